# Navis as measured by bench/run: one driver, as many connection threads as it likes, no logs.
set run $::env(BENCH_RUN)
ns_section ns/parameters {
    ns_param home       $run
    ns_param tcllibrary $run/modules
    ns_param systemlog  $run/navis.log
    ns_param pidfile    $run/navis.pid
}
ns_section ns/servers { ns_param default "Benchmark" }
ns_section ns/modules { ns_param nssock nssock }
ns_section ns/module/nssock {
    ns_param address       127.0.0.1
    ns_param port          $::env(BENCH_PORT)
    ns_param hostname      localhost
    ns_param defaultserver default
    ns_param backlog       1024
    ns_param keepwait      300s
    ns_param sendwait      300s
    ns_param maxinput      1GB
    ns_param maxupload     1MB
    ns_param uploadpath    $run/upload
}
ns_section ns/module/nssock/servers { ns_param default localhost }
ns_section ns/server/default {
    ns_param minthreads     4
    ns_param maxthreads     4
    ns_param connsperthread 0
}
ns_section ns/server/default/fastpath {
    ns_param pagedir $run/pages
}
ns_section ns/server/default/adp { ns_param map /*.adp }
ns_section ns/server/default/tcl { ns_param library $run/lib }
ns_section ns/fastpath {
    ns_param cache      true
    ns_param cachecheck [expr {[info exists ::env(CACHECHECK)] ? $::env(CACHECHECK) : "0s"}]
}
