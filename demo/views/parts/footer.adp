</main>
<footer class="wide foot">
<p>Served by <%= [harbour::h [harbour::status::ask "" ns_info name]] %> <%= [harbour::h [harbour::status::ask "" ns_info patchlevel]] %> with Tcl <%= [info patchlevel] %>. Ships, people and tides are invented.</p>
</footer>
</body>
</html>
