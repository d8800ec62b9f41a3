_tdd_completion() {
    local line=${COMP_LINE:0:COMP_POINT} colon= type value words
    local cur=${line##*[[:space:]]}
    read -ra words <<< "$line"
    local cword=${#words[@]}
    [[ -n $cur ]] && ((cword--))
    [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]] && colon=${cur%"${cur##*:}"}
    COMPREPLY=()
    while IFS=, read -r type value; do
        if [[ $type == plain ]]; then
            printf -v value %q "$value"
            COMPREPLY+=("${value#"$colon"}")
        elif [[ $type == file || $type == dir ]]; then
            while IFS= read -r value; do
                if [[ -d $value ]]; then
                    value+=/
                    compopt -o nospace
                fi
                COMPREPLY+=("$value")
            done < <(compgen -f -- "$cur")
        fi
    done < <(COMP_WORDS=$line COMP_CWORD=$cword _TDD_COMPLETE=bash_complete "$1")
}
complete -o bashdefault -o default -F _tdd_completion tdd
