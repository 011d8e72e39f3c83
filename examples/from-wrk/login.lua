wrk.method = "POST"
wrk.body = "user=anna&password=sesame"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
