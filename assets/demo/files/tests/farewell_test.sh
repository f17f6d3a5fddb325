. src/farewell.sh
test "$(say_farewell Ada)" = "goodbye, Ada"
