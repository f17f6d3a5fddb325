# Prints a farewell.
say_farewell() {
  printf 'goodbye, %s\n' "${1:-world}"
}
