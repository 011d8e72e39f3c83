# Three requests as copied from the tools of a browser, and one by hand.
curl 'http://shop.example:8080/search?q=red%20shoes&page=1' \
  -H 'Accept: text/html' \
  -H 'Cookie: session=abc' \
  --compressed
curl 'http://shop.example:8080/api/cart' \
  -H 'Accept: text/html' \
  -H 'content-type: application/json' \
  --data-raw $'{"item":17,"note":"it\'s ${red}"}'
curl -sS -u alice:secret -d 'name=O%27Neil' -d color=red "http://shop.example:8080/orders/$ORDER_ID"
curl -F 'title=A picture' -F 'file=@picture.jpg;type=image/jpeg' --max-time 2.5 http://shop.example:8080/upload
