</main>
<footer class="wide foot">
<p>A demo of Navis, here answering as <%= [harbour::h [ns_info name]] %> <%= [harbour::h [ns_info patchlevel]] %> with Tcl <%= [info patchlevel] %>. Ships and tides are invented.</p>
</footer>
</body>
</html>
