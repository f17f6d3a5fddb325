# Says goodbye to somebody.
say_farewell() {
  printf 'goodbye, %s\n' "${1:-world}"
}
