# Cookies: the visitor's session, which proves that a form came from our page, and the theme.

namespace eval ::harbour::session {
    # {connection id, session id} of a session that began in the request being served: its
    # cookie is on the way out and cannot be read back yet.
    variable fresh {}
}

# The visitor's session id; begins a session when there is none.
proc ::harbour::session::id {} {
    variable fresh
    set id [ns_getcookie harbour_session ""]
    if {[regexp {^[0-9a-f]{32}$} $id]} { return $id }
    if {[lindex $fresh 0] eq [ns_conn id]} { return [lindex $fresh 1] }
    set id [::harbour::random]
    ns_setcookie -path / -samesite lax -- harbour_session $id
    set fresh [list [ns_conn id] $id]
    return $id
}

# What our forms carry: it follows from the session and from a secret that only we know.
proc ::harbour::session::token {} {
    return [ns_sha1 "[id]/[secret]"]
}

proc ::harbour::session::token_field {} {
    return "<input type=\"hidden\" name=\"token\" value=\"[token]\">"
}

proc ::harbour::session::token_fits {} {
    return [expr {[ns_queryget token ""] eq [token]}]
}

# The secret outlives a restart, so forms that are open in a browser stay good.
proc ::harbour::session::secret {} {
    if {![nsv_exists harbour_session secret]} {
        set value [::harbour::random]
        ::harbour::db::transaction {
            ::harbour::db::run {insert or ignore into setting (name, value) values ('secret', :value)}
            set value [::harbour::db::value {select value from setting where name = 'secret'}]
        }
        nsv_set harbour_session secret $value
    }
    return [nsv_get harbour_session secret]
}

proc ::harbour::session::theme {} {
    set theme [ns_getcookie harbour_theme auto]
    return [expr {$theme in {light dark} ? $theme : "auto"}]
}

# POST /theme: keeps the choice for a year and goes back to where the visitor was.
proc ::harbour::session::choose_theme {} {
    set theme [ns_queryget theme auto]
    if {$theme in {light dark}} {
        ns_setcookie -path / -samesite lax -expires 31536000 -- harbour_theme $theme
    } else {
        ns_deletecookie -path / -- harbour_theme
    }
    ns_returnredirect [local_path [ns_queryget return /]]
}

# A path on this server, or / for anything that could lead elsewhere.
proc ::harbour::session::local_path {path} {
    if {[regexp {^/($|[A-Za-z0-9][A-Za-z0-9/._?&=%+-]*$)} $path]} { return $path }
    return /
}
