import csv
import random
from pathlib import Path

from locust import HttpUser, constant, task

ACCOUNTS = list(csv.DictReader((Path(__file__).parent.parent / "shop" / "accounts.csv").open()))


class Customer(HttpUser):
    wait_time = constant(1)

    @task
    def look_at_orders(self):
        login = self.client.post("/login", data=random.choice(ACCOUNTS))
        headers = {"Authorization": f"Bearer {login.json()['token']}"}
        with self.client.get("/orders", headers=headers, catch_response=True) as answer:
            if "orders" not in answer.text:
                answer.failure("no orders")
        self.client.get("/orders/1", headers=headers)
