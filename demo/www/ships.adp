<%
set q [string range [string trim [ns_queryget q ""]] 0 60]
set kind [ns_queryget kind ""]
set sort [ns_queryget sort name]
set order [expr {[ns_queryget order asc] eq "desc" ? "desc" : "asc"}]
set page [harbour::within [ns_queryget page 1] 1 100000 1]
set found [harbour::ships::search $q $kind $sort $order $page]
if {![dict exists $harbour::ships::orders $sort]} { set sort name }
# What the links on this page keep. Defaults are left out of addresses.
set keep [dict create q $q kind $kind sort [expr {$sort eq "name" ? "" : $sort}] order [expr {$order eq "asc" ? "" : $order}] page ""]
set total [dict get $found total]
ns_adp_include [harbour::part header] Ships ships
%>
<h1>Ships</h1>
<form class="search card" method="get" action="/ships" role="search" data-test="search-form">
<div class="field"><label for="q">Name, call sign or home port</label><input type="search" id="q" name="q" value="<%= [harbour::h $q] %>" maxlength="60" data-test="search-q"></div>
<div class="field"><label for="kind">Kind</label><select id="kind" name="kind" data-test="search-kind"><%= [harbour::options [harbour::ships::kinds] $kind] %></select></div>
<button data-test="search-submit">Search</button>
</form>
<p class="count" data-test="count"><%= $total %> <%= [expr {$total == 1 ? "ship" : "ships"}] %><%= [expr {$total > 20 ? ", page [dict get $found page] of [dict get $found pages]" : ""}] %></p>
<%
if {$total == 0} {
    ns_adp_puts "<p class=\"card empty\" data-test=\"no-ships\">No ship fits. <a href=\"/ships\">Show them all</a></p>"
} else {
    ns_adp_puts "<div class=\"scroll\"><table data-test=\"ships\"><thead><tr>"
    foreach {column text} {name Ship kind Kind flag Flag length Length built Built visits Visits last "Last arrival"} {
        ns_adp_puts [harbour::sort_heading /ships $keep $column $text $sort $order]
    }
    ns_adp_puts "</tr></thead><tbody>"
    foreach ship [dict get $found rows] {
        dict with ship {
            set where [expr {$berth eq "" ? [harbour::time_tag $last] : "<span class=\"badge\">in port, [harbour::h $berth]</span>"}]
            ns_adp_puts "<tr><td><a href=\"/ships/$id\" data-test=\"ship-$id\">[harbour::h $name]</a> <small>[harbour::h $callsign]</small></td><td>[harbour::h $kind]</td><td>[harbour::h $flag]</td><td class=\"number\">$length m</td><td class=\"number\">$built</td><td class=\"number\">$visits</td><td>$where</td></tr>"
        }
    }
    ns_adp_puts "</tbody></table></div>"
    ns_adp_puts [harbour::pager /ships $keep [dict get $found page] [dict get $found pages]]
}
%>
<% ns_adp_include [harbour::part footer] %>
