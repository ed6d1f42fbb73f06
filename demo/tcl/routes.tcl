# Which request goes where, all in one place. What is not named here is a file below www/.

foreach method {GET HEAD POST} {
    ns_register_filter postauth $method /* ::harbour::filter_headers
    ns_register_filter trace    $method /* ::harbour::filter_count
}
ns_register_filter postauth POST /* ::harbour::filter_form

# Pages that are ADP files under an address without the suffix.
foreach method {GET HEAD} {
    foreach page {ships visits files tides status tour} {
        ns_register_adp -noinherit $method /$page [::harbour::path www $page.adp]
    }
    # One ship, one document: the number is the rest of the path.
    ns_register_proc $method /ships ::harbour::ships::page
    ns_register_proc $method /files ::harbour::files::download
    ns_register_proc -noinherit $method /visits/new ::harbour::visits::form_page
    ns_register_proc -noinherit $method /visits.csv ::harbour::visits::csv

    ns_register_proc $method /api ::harbour::api::unknown
    ns_register_proc -noinherit $method /api/ships  ::harbour::api::ships
    ns_register_proc $method /api/ships ::harbour::api::ship
    ns_register_proc -noinherit $method /api/berths ::harbour::api::berths
    ns_register_proc -noinherit $method /api/status ::harbour::api::status
}

# Forms: each ends in a redirect, so that reloading the page sends nothing twice.
ns_register_proc -noinherit POST /visits        ::harbour::visits::submit
ns_register_proc -noinherit POST /visits/depart ::harbour::visits::depart
ns_register_proc -noinherit POST /files         ::harbour::files::upload
ns_register_proc -noinherit POST /files/delete  ::harbour::files::remove
ns_register_proc -noinherit POST /tides/forget  ::harbour::tides::forget
ns_register_proc -noinherit POST /watch/round   ::harbour::watch::ask
ns_register_proc -noinherit POST /theme         ::harbour::session::choose_theme
ns_register_proc -noinherit POST /api/visits    ::harbour::api::log_visit
