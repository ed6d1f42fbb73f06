# ns_cache and ns_cache_size: the interface of AOLserver's nscache module, which OpenACS still uses.

proc ns_cache {cmd cache_name args} {
    switch -- $cmd {
        create {
            set options {}
            set size 1MB
            foreach {option value} $args {
                switch -- $option {
                    -size {set size $value}
                    -timeout - -expires {lappend options -expires $value}
                    -maxentry {lappend options -maxentry $value}
                    default {error "ns_cache create: unknown option \"$option\""}
                }
            }
            return [ns_cache_create {*}$options -- $cache_name $size]
        }
        eval {return [uplevel 1 [list ns_cache_eval -- $cache_name {*}$args]]}
        get {return [uplevel 1 [list ns_cache_get $cache_name {*}$args]]}
        set {
            lassign $args key value
            return [ns_cache_eval -force -- $cache_name $key [list set value $value]]
        }
        flush {return [ns_cache_flush -- $cache_name {*}$args]}
        names {return [ns_cache_keys -- $cache_name {*}$args]}
        size {return [ns_cache_size $cache_name]}
        stats {return [ns_cache_stats -- $cache_name]}
        exists {return [ns_cache_exists $cache_name]}
        default {
            error "ns_cache: bad subcommand \"$cmd\": must be create, eval, exists, flush, get, names, set, size, or stats"
        }
    }
}

proc ns_cache_size {cache_name} {
    set stats [ns_cache_stats $cache_name]
    return [list [dict get $stats maxsize] [dict get $stats size]]
}
