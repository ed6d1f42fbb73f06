<%
set q [string range [string trim [ns_queryget q ""]] 0 60]
set state [ns_queryget state ""]
if {$state ni {open closed}} { set state "" }
set page [harbour::within [ns_queryget page 1] 1 100000 1]
set found [harbour::visits::search $q $state $page]
set keep [dict create q $q state $state page ""]
ns_adp_include [harbour::part header] Logbook visits
%>
<h1>Logbook</h1>
<form class="search card" method="get" action="/visits" role="search">
<div class="field"><label for="q">Ship, origin or cargo</label><input type="search" id="q" name="q" value="<%= [harbour::h $q] %>" maxlength="60" data-test="search-q"></div>
<div class="field"><label for="state">Show</label><select id="state" name="state" data-test="search-state"><%= [harbour::options {"" "All visits" open "In port" closed "Departed"} $state] %></select></div>
<button data-test="search-submit">Search</button>
</form>
<p class="count"><span data-test="count"><%= [dict get $found total] %> visits</span> &middot; <a href="/visits/new" data-test="log-arrival">Log an arrival</a> &middot; <a href="/visits.csv" data-test="csv">All as CSV</a></p>
<div class="scroll"><table data-test="visits">
<thead><tr><th scope="col" class="number">No.</th><th scope="col">Ship</th><th scope="col">Berth</th><th scope="col">Arrived</th><th scope="col">Departed</th><th scope="col">From</th><th scope="col">Cargo</th><th scope="col" class="number">Tonnes</th></tr></thead>
<tbody>
<%
foreach visit [dict get $found rows] {
    dict with visit {
        set until [expr {$departed eq "" ? "<span class=\"badge\">in port</span>" : [harbour::time_tag $departed]}]
        ns_adp_puts "<tr><td class=\"number\">$id</td><td><a href=\"/ships/$ship\">[harbour::h $name]</a></td><td>[harbour::h $code]</td><td>[harbour::time_tag $arrived]</td><td>$until</td><td>[harbour::h $origin]</td><td>[harbour::h $cargo]</td><td class=\"number\">[harbour::thousands $tonnes]</td></tr>"
    }
}
%>
</tbody></table></div>
<%= [harbour::pager /visits $keep [dict get $found page] [dict get $found pages]] %>
<% ns_adp_include [harbour::part footer] %>
