
# Bash splits the line at `:` and `=` as well, so a name such as `sim:k20` comes in pieces. This gives the whole word to the
# completion above, and returns only what follows the last `:`, because bash replaces only that.
_strata_whole_word() {
    local line="${COMP_LINE:0:COMP_POINT}"
    local word="${line##*[[:space:]]}"
    local before="${line%"$word"}"
    if [[ "$word" == --*=* ]]; then
        before+="${word%%=*}"
        word="${word#*=}"
    elif [[ "$word" != *:* ]]; then
        _strata "$@"
        return
    fi
    local -a COMP_WORDS
    read -r -a COMP_WORDS <<<"$before"
    local COMP_CWORD="${#COMP_WORDS[@]}"
    local previous="${COMP_WORDS[COMP_CWORD - 1]}"
    COMP_WORDS+=("$word")
    _strata "$1" "$word" "$previous"
    if [[ "$COMP_WORDBREAKS" == *:* ]]; then
        local kept="${word%"${word##*:}"}"
        local i
        for i in "${!COMPREPLY[@]}"; do
            COMPREPLY[i]="${COMPREPLY[i]#"$kept"}"
        done
    fi
}
