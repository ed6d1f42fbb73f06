<% ns_adp_include [harbour::part header] Tour tour %>
<h1>Tour</h1>
<p class="lead">A small application, complete enough to show what a server for Tcl is good for. Each stop names the file to read.</p>
<div class="stops">
<%
foreach {url title text file} {
    / "Pages from templates" "HTML with Tcl in it, put together from shared parts. The berths come from the database each time you look." www/index.adp
    /ships "A list that can be searched" "Paging, sorting and searching in SQL, values always quoted." tcl/ships.tcl
    /visits/new "A form that checks" "Everything is checked on the server, what you typed stays, each complaint stands by its field, and after success a redirect keeps a reload from sending it twice." tcl/visits.tcl
    /visits.csv "An answer in pieces" "The CSV file is written while the rows are read, however many there are." tcl/visits.tcl
    /files "Upload and download" "Files of limited size and checked content; names from outside never become paths." tcl/files.tcl
    /tides "A cached computation" "Twenty thousand heights of water, computed once an hour. Compare the two times on the page." tcl/tides.tcl
    /api/ships?limit=3 "JSON" "The same data for programs, and a way to log an arrival with POST." tcl/api.tcl
    /status "A scheduled task, and the server's own view" "Threads, queues, caches and drivers, refreshed every two seconds." tcl/watch.tcl
    /nowhere "Error pages" "What is not there is said in the style of the house, with the right status." www/errors/404.adp
} {
    ns_adp_puts "<a class=\"card stop\" href=\"[harbour::h $url]\"><strong>[harbour::h $title]</strong><span>[harbour::h $text]</span><code>demo/[harbour::h $file]</code></a>"
}
%>
</div>
<section class="card">
<h2>Around every request</h2>
<p>A filter gives each answer a number (<code>X-Request-Id</code>) and tells browsers to be strict; another refuses forms that did not come from our own pages; a third counts after the answer went out. See <code>demo/tcl/filters.tcl</code>; all addresses stand in <code>demo/tcl/routes.tcl</code>.</p>
</section>
<% ns_adp_include [harbour::part footer] %>
