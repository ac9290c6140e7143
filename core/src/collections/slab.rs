//! Objects by index and generation.

use alloc::vec::Vec;

use super::NONE;
use crate::cluster::Digest;

/// A table whose places are used again; a place's generation rises with each use.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    first_free: u32,
    len: usize,
}

#[derive(Clone, Debug)]
struct Place<T> {
    generation: u32,
    content: Content<T>,
}

#[derive(Clone, Debug)]
enum Content<T> {
    Object(T),
    /// The next free place, or `NONE`.
    Free(u32),
}

impl<T> Content<T> {
    #[inline]
    const fn object(&self) -> Option<&T> {
        match self {
            Self::Object(object) => Some(object),
            Self::Free(_) => None,
        }
    }

    #[inline]
    const fn object_mut(&mut self) -> Option<&mut T> {
        match self {
            Self::Object(object) => Some(object),
            Self::Free(_) => None,
        }
    }
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self {
            places: Vec::new(),
            first_free: NONE,
            len: 0,
        }
    }

    /// The index and generation of the new object.
    #[inline]
    pub(crate) fn insert(&mut self, object: T) -> (u32, u32) {
        self.len += 1;
        let index = self.first_free;
        if let Some(place) = self.places.get_mut(index as usize)
            && let Content::Free(next) = place.content
        {
            self.first_free = next;
            place.content = Content::Object(object);
            return (index, place.generation);
        }
        let index = u32::try_from(self.places.len()).expect("fewer than 2^32 objects");
        self.places.push(Place {
            generation: 0,
            content: Content::Object(object),
        });
        (index, 0)
    }

    /// Takes out the object at `index`, if there is one. A place whose generations are used up is
    /// never used again, so that no id ever names two objects.
    #[inline]
    pub(crate) fn remove(&mut self, index: u32) -> Option<T> {
        let place = self.places.get_mut(index as usize)?;
        place.content.object()?;
        let free = Content::Free(self.first_free);
        let content = core::mem::replace(&mut place.content, free);
        self.len -= 1;
        if let Some(generation) = place.generation.checked_add(1) {
            place.generation = generation;
            self.first_free = index;
        }
        match content {
            Content::Object(object) => Some(object),
            Content::Free(_) => None,
        }
    }

    /// The object that `index` and `generation` name.
    #[inline]
    pub(crate) fn get(&self, index: u32, generation: u32) -> Option<&T> {
        let place = self.places.get(index as usize)?;
        let object = place.content.object()?;
        (place.generation == generation).then_some(object)
    }

    /// The object at `index`, whatever its generation.
    #[inline]
    pub(crate) fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        self.places.get_mut(index as usize)?.content.object_mut()
    }

    pub(crate) fn contains(&self, index: u32) -> bool {
        let place = self.places.get(index as usize);
        place.is_some_and(|place| place.content.object().is_some())
    }

    /// The generation of the place at `index`.
    pub(crate) fn generation(&self, index: u32) -> u32 {
        self.places[index as usize].generation
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All objects, by rising index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let indices = 0..;
        indices
            .zip(&self.places)
            .filter_map(|(index, place)| Some((index, place.content.object()?)))
    }

    /// All objects by their indices, and which indices come next. Generations only name things.
    pub(crate) fn digest(&self, to: &mut Digest<'_>, add: impl Fn(&mut Digest<'_>, &T)) {
        let Self {
            places,
            first_free,
            len: _,
        } = self;
        to.add(first_free);
        to.all(places.iter(), |to, place| {
            let Place {
                generation: _,
                content,
            } = place;
            match content {
                Content::Object(object) => {
                    to.add(0);
                    add(to, object);
                }
                Content::Free(next) => to.add((1, next)),
            }
        });
    }

    /// The first object at or after `index`.
    pub(crate) fn next_from(&self, index: u32) -> Option<u32> {
        (index..self.places.len() as u32)
            .find(|&i| self.places[i as usize].content.object().is_some())
    }
}

/// For indices that the core itself holds: there must be an object.
impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: u32) -> &T {
        let object = self.places[index as usize].content.object();
        object.expect("an index held by the core names a live object")
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        let object = self.places[index as usize].content.object_mut();
        object.expect("an index held by the core names a live object")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_used_again_has_a_new_generation() {
        let mut slab = Slab::new();
        let (index, generation) = slab.insert('a');
        assert_eq!(slab.remove(index), Some('a'));
        assert_eq!(slab.insert('b'), (index, generation + 1));
        assert_eq!(slab.get(index, generation), None);
        assert_eq!(slab.get(index, generation + 1), Some(&'b'));
    }

    #[test]
    fn a_place_whose_generations_are_used_up_is_retired() {
        let mut slab = Slab::new();
        let (index, _) = slab.insert('a');
        slab.places[index as usize].generation = u32::MAX;
        slab.remove(index);
        assert_eq!(slab.insert('b'), (1, 0));
        assert_eq!(slab.len(), 1);
    }

    #[test]
    fn removing_twice_or_nothing_changes_nothing() {
        let mut slab = Slab::new();
        let (index, _) = slab.insert('a');
        slab.remove(index);
        assert_eq!(
            (slab.remove(index), slab.remove(9), slab.len()),
            (None, None, 0)
        );
    }
}
