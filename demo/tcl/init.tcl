# Sourced first: the application's namespace, its parameters, and what every other file leans on.

namespace eval ::harbour {
    # Parameters of ns/server/demo/harbour. Namespace variables travel to every thread's interpreter.
    variable setting
    array set setting {
        root "" var "" name "Harbour" maxfile 5242880 maxfiles 200 watchseconds 60
    }
}

proc ::harbour::read_settings {} {
    variable setting
    set section ns/server/[ns_info server]/harbour
    foreach key [array names setting] {
        set setting($key) [ns_config $section $key $setting($key)]
    }
}

proc ::harbour::setting {key} {
    variable setting
    return $setting($key)
}

# Path of a file below the application's directory, below the writable one.
proc ::harbour::path {args} { return [file join [setting root] {*}$args] }
proc ::harbour::var_path {args} { return [file join [setting var] {*}$args] }

# The shared parts of pages, for ns_adp_include.
proc ::harbour::part {name} { return [path views parts $name.adp] }

# True for the ids that appear in URLs and forms: 1 to 9 digits, no sign, no leading zero.
proc ::harbour::is_id {text} { return [regexp {^[1-9][0-9]{0,8}$} $text] }

# The number in `text` kept within low..high, or `default` when it is not a number.
proc ::harbour::within {text low high default} {
    if {![regexp {^[0-9]{1,9}$} $text]} { return $default }
    scan $text %d number
    return [expr {min($high, max($low, $number))}]
}

# 32 hexadecimal digits nobody can guess.
proc ::harbour::random {} { return [ns_crypto::randombytes -encoding hex 16] }

# Answers with a page from views/: everything the view needs travels in one dictionary.
proc ::harbour::render {status view {data {}}} {
    ns_return $status text/html [ns_adp_parse -file [path views $view.adp] $data]
}

# The problem as a page (the configuration's redirects name it), for use in handlers.
proc ::harbour::not_found {} { ns_returnnotfound }

::harbour::read_settings
