# Pieces of HTML that several pages need. Every value from outside passes through `h`.

proc ::harbour::h {text} { return [ns_quotehtml $text] }

# A query string from pairs; empty values are left out, which keeps addresses short.
proc ::harbour::query {pairs} {
    set parts {}
    foreach {key value} $pairs {
        if {$value ne ""} {
            lappend parts [ns_urlencode $key]=[ns_urlencode $value]
        }
    }
    return [join $parts &]
}

proc ::harbour::link {path pairs} {
    set query [query $pairs]
    return [h [expr {$query eq "" ? $path : "$path?$query"}]]
}

# Times are kept in seconds since 1970 and shown in the server's time zone.
proc ::harbour::moment {seconds} {
    if {$seconds eq ""} { return "" }
    return [ns_fmttime $seconds "%d %b %Y, %H:%M"]
}

proc ::harbour::time_tag {seconds} {
    if {$seconds eq ""} { return "" }
    return "<time datetime=\"[ns_fmttime $seconds %Y-%m-%dT%H:%M]\">[moment $seconds]</time>"
}

# "3 d 4 h", "5 h 10 min", "12 min", "8 s"
proc ::harbour::duration {seconds} {
    set seconds [expr {max(0, int($seconds))}]
    set days    [expr {$seconds / 86400}]
    set hours   [expr {$seconds / 3600 % 24}]
    set minutes [expr {$seconds / 60 % 60}]
    if {$days > 0}    { return "$days\u00a0d $hours\u00a0h" }
    if {$hours > 0}   { return "$hours\u00a0h $minutes\u00a0min" }
    if {$minutes > 0} { return "$minutes\u00a0min" }
    return "$seconds\u00a0s"
}

# 1234567 as 1 234 567
proc ::harbour::thousands {number} {
    if {![string is entier -strict $number]} { return $number }
    while {[regsub {^(-?[0-9]+)([0-9]{3})} $number "\\1\u202f\\2" number]} {}
    return $number
}

proc ::harbour::bytes {number} {
    if {$number >= 1048576} { return "[format %.1f [expr {$number / 1048576.0}]]\u00a0MB" }
    if {$number >= 1024}    { return "[format %.0f [expr {$number / 1024.0}]]\u00a0kB" }
    return "$number\u00a0B"
}

# <option> elements from pairs of value and text.
proc ::harbour::options {pairs chosen} {
    set out ""
    foreach {value text} $pairs {
        set mark [expr {$value eq $chosen ? " selected" : ""}]
        append out "<option value=\"[h $value]\"$mark>[h $text]</option>"
    }
    return $out
}

# The line below a form field that says what is wrong with it, empty when nothing is.
proc ::harbour::complaint {problems field} {
    if {![dict exists $problems $field]} { return "" }
    return "<p class=\"complaint\" id=\"$field-problem\" data-test=\"problem-$field\">[h [dict get $problems $field]]</p>"
}

# Attributes that tie a field to its complaint.
proc ::harbour::troubled {problems field} {
    if {![dict exists $problems $field]} { return "" }
    return " aria-invalid=\"true\" aria-describedby=\"$field-problem\""
}

# Links to the pages of a long list: first, last and the neighbours of the current one.
proc ::harbour::pager {path pairs page pages} {
    if {$pages < 2} { return "" }
    set out "<nav class=\"pager\" aria-label=\"Pages\" data-test=\"pager\">"
    if {$page > 1} {
        append out "<a rel=\"prev\" data-test=\"page-prev\" href=\"[link $path [dict replace $pairs page [expr {$page - 1}]]]\">&lsaquo; Earlier</a>"
    }
    set before 0
    for {set number 1} {$number <= $pages} {incr number} {
        if {$number != 1 && $number != $pages && abs($number - $page) > 1} { continue }
        if {$number > $before + 1} { append out "<span class=\"gap\">&hellip;</span>" }
        set before $number
        if {$number == $page} {
            append out "<span class=\"here\" aria-current=\"page\">$number</span>"
        } else {
            append out "<a href=\"[link $path [dict replace $pairs page $number]]\">$number</a>"
        }
    }
    if {$page < $pages} {
        append out "<a rel=\"next\" data-test=\"page-next\" href=\"[link $path [dict replace $pairs page [expr {$page + 1}]]]\">Later &rsaquo;</a>"
    }
    return "$out</nav>"
}

# A column heading that sorts by its column; a second click turns the order round.
proc ::harbour::sort_heading {path pairs column text sort order} {
    set state [expr {$column in {length built visits} ? " class=\"number\"" : ""}]
    set next asc
    set arrow ""
    if {$column eq $sort} {
        append state " aria-sort=\"[expr {$order eq "asc" ? "ascending" : "descending"}]\""
        set next [expr {$order eq "asc" ? "desc" : "asc"}]
        set arrow [expr {$order eq "asc" ? " &uarr;" : " &darr;"}]
    }
    set href [link $path [dict merge $pairs [list sort $column order $next page ""]]]
    return "<th scope=\"col\"$state><a href=\"$href\" data-test=\"sort-$column\">[h $text]$arrow</a></th>"
}

# The silhouette of a ship in its berth, drawn to scale: both lengths in metres.
proc ::harbour::silhouette {ship_length berth_length} {
    set length [expr {max(8.0, min(100.0, 100.0 * $ship_length / $berth_length))}]
    set bow    [format %.1f [expr {$length - 5}]]
    set length [format %.1f $length]
    set house  [format %.1f [expr {$length * 0.12 + 2}]]
    set svg "<svg class=\"silhouette\" viewBox=\"0 0 100 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
    append svg "<path class=\"hull\" d=\"M1 8 H$length L$bow 14 H3 Z\"/><rect class=\"house\" x=\"3\" y=\"3\" width=\"$house\" height=\"5\"/>"
    append svg "<path class=\"water\" d=\"M0 15 H100\"/></svg>"
    return $svg
}

# Messages after a redirect. Only these words can be asked for, so nothing from outside is shown.
proc ::harbour::announcement {word} {
    set texts {
        logged   "The arrival is in the logbook."
        departed "The ship has cast off."
        stored   "The document is filed."
        deleted  "The document is gone."
        watched  "The harbour watch has made a round."
        computed "The tide table will be computed afresh."
    }
    if {![dict exists $texts $word]} { return "" }
    return "<p class=\"notice\" role=\"status\" data-test=\"notice\">[h [dict get $texts $word]]</p>"
}
