# Old procedures that write or change HTML.

proc ns_htmlselect {args} {
    set multi 0
    set sort 0
    set labels {}
    while {[string match -* [lindex $args 0]]} {
        set args [lassign $args option]
        switch -- $option {
            -multi { set multi 1 }
            -sort { set sort 1 }
            -labels { set args [lassign $args labels] }
            default { error "ns_htmlselect: invalid option \"$option\"" }
        }
    }
    lassign $args name values selected
    if {[llength $labels] == 0} {
        set labels $values
    }
    set html "<select name='$name'"
    if {$multi} {
        append html " multiple size='[expr {min(5, [llength $values])}]'"
    }
    if {!$multi && [llength $values] > 25} {
        append html " size='5'"
    }
    append html ">\n"
    set options [lmap value $values label $labels {list [string map [list \" ""] $label] $value}]
    if {$sort} {
        set options [lsort -index 0 $options]
    }
    foreach option $options {
        lassign $option label value
        append html "<option value=\"$value\""
        if {$value in $selected} {
            append html " selected"
        }
        append html ">$label\n"
    }
    append html </select>
}

# The value of an attribute of a tag.
proc ns_tagelement {tag key} {
    set key [::navis::regquote $key]
    if {[regexp -nocase "\[ \\t\\r\\n\]$key\\s*=\\s*\"(\[^\"\]*)\"" $tag -> value]} {
        return $value
    }
    if {[regexp -nocase "\[ \\t\\r\\n\]$key\\s*=\\s*(\[^ \\t\\r\\n>\]*)" $tag -> value]} {
        return $value
    }
    return ""
}

# Sets an attribute of the tag in a variable; a new one is put behind the tag.
proc ns_tagelementset {tagvar key value} {
    upvar 1 $tagvar tag
    set quoted [::navis::regquote $key]
    set new "[string map {\\ \\\\ & \\&} $value]"
    foreach form {{"[^"]*"} {[^ \t\r\n>]*}} {
        if {[regsub -nocase "(\[ \\t\\r\\n\]$quoted\\s*=\\s*)$form" $tag "\\1\"$new\"" tag]} {
            return
        }
    }
    append tag " $key=\"$value\""
    return
}

proc ::navis::regquote {text} {
    regsub -all {[^[:alnum:]]} $text {\\&}
}

# HTML in which the form field `dataname` has the value `datavalue`.
proc ns_formvalueput {htmlpiece dataname datavalue} {
    set out ""
    set value [ns_quotehtml $datavalue]
    set skip ""
    set inselect 0
    set pieces [ns_parsehtml $htmlpiece]
    for {set i 0} {$i < [llength $pieces]} {incr i} {
        lassign [lindex $pieces $i] kind raw element
        set name [string tolower [lindex $element 0]]
        if {$skip ne ""} {
            if {$name ne $skip} continue
            set skip ""
        }
        if {$kind ne "tag"} {
            append out $raw
            continue
        }
        set attributes [dict create]
        foreach {k v} [lindex $element 1] {
            dict set attributes [string tolower $k] $v
        }
        set ours [expr {[dict exists $attributes name] && [dict get $attributes name] eq $dataname}]
        switch -- $name {
            input {
                if {$ours} {
                    set type [expr {[dict exists $attributes type] ? [string tolower [dict get $attributes type]] : "text"}]
                    if {$type in {radio checkbox}} {
                        regsub -nocase {\schecked(="?checked"?)?} $raw "" raw
                        if {[dict exists $attributes value] && [dict get $attributes value] eq $datavalue} {
                            set raw [::navis::addattribute $raw CHECKED]
                        }
                    } else {
                        regsub -nocase {\svalue\s*=\s*("[^"]*"|'[^']*'|[^ \t\r\n>]*)} $raw "" raw
                        set raw [::navis::addattribute $raw "VALUE=\"$value\""]
                    }
                }
            }
            textarea {
                if {$ours} {
                    append raw $value
                    set skip /textarea
                }
            }
            select { set inselect $ours }
            /select { set inselect 0 }
            option {
                if {$inselect} {
                    regsub -nocase {\sselected(="?selected"?)?} $raw "" raw
                    if {[dict exists $attributes value]} {
                        set mine [dict get $attributes value]
                    } else {
                        lassign [lindex $pieces [expr {$i + 1}]] following text
                        set mine [expr {$following eq "text" ? [ns_unquotehtml [string trim $text]] : ""}]
                    }
                    if {$mine eq $datavalue} {
                        set raw [::navis::addattribute $raw SELECTED]
                    }
                }
            }
        }
        append out $raw
    }
    return $out
}

proc ::navis::addattribute {raw attribute} {
    set at [expr {[string length $raw] - ([string index $raw end-1] eq "/" ? 2 : 1)}]
    return "[string range $raw 0 $at-1] $attribute[string range $raw $at end]"
}
