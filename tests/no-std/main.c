/* Linked with the static library and nothing else of Rust's; exits 0 if redial answered. */
#include <stdbool.h>

bool redial_answers_without_std(void);

int main(void) {
    return redial_answers_without_std() ? 0 : 1;
}
