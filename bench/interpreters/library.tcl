# Writes an application: N procedures of some ten lines in fifty namespaces, with variables, exports and imports.
set n [lindex $argv 0]
for {set i 0} {$i < $n} {incr i} {
    set ns ::app::part[expr {$i % 50}]
    if {$i < 50} {
        puts "namespace eval $ns {namespace export p*; variable count 0; variable table; array set table {a 1 b 2 c 3}}"
    }
    puts "proc ${ns}::p$i {a {b 5} args} {
    variable count
    variable table
    incr count
    set list {}
    foreach x \$args {
        if {\$x > \$a} {lappend list \[expr {\$x * $i}\]} else {lappend list \[string range \$x 0 end-1\]}
    }
    set text \"procedure $i was called with \$a and \$b\"
    if {\[info exists table(\$a)\]} {append text \" which is \$table(\$a)\"}
    switch -- \$b {5 {append text { by default}} 6 {append text six} default {append text other}}
    return \[list \$text \$list \[string length \$text\]\]
}"
}
puts "namespace eval ::user {namespace import ::app::part0::*}"
