"""Listens to versioned notifications as OpenStack's services do, and checks their payloads against Nova's own objects.

Prints a line of JSON for each notification: its type, publisher, priority and uuid, and what Nova's objects refuse.
"""

import json
import sys
import threading

import oslo_messaging
from nova.notifications.objects import (
    aggregate,
    compute_task,
    exception,
    flavor,
    instance,
    keypair,
    server_group,
    service,
)
from nova.objects import base
from oslo_config import cfg
from oslo_versionedobjects import fields

TOPIC = "versioned_notifications"
MODULES = (aggregate, compute_task, exception, flavor, instance, keypair, server_group, service)
CLASSES = {name: each for module in MODULES for name, each in vars(module).items() if isinstance(each, type)}


def problems(value, path="payload"):
    """What is wrong with an object, by Nova's class of its name."""
    name = value["nova_object.name"]
    if name not in CLASSES:
        return [f"{path}: there is no {name}"]
    found = []
    if CLASSES[name].VERSION != value["nova_object.version"]:
        found.append(f"{path}: {name} is at {CLASSES[name].VERSION}")
    data = value["nova_object.data"]
    known = CLASSES[name].fields
    found += [f"{path}.{key} is not of {name}" for key in data if key not in known]
    found += [f"{path}.{key} is missing" for key in known if key not in data]
    for key, field in known.items():
        if key in data:
            found += problems_of_field(field, key, data[key], f"{path}.{key}")
    return found


def problems_of_field(field, key, value, path):
    if isinstance(value, dict) and "nova_object.name" in value:
        return problems(value, path)
    if isinstance(field, fields.ListOfObjectsField) and value is not None:
        return [each for nth, item in enumerate(value) for each in problems(item, f"{path}[{nth}]")]
    try:
        field.coerce(base.NovaObject(), key, value)
    except (ValueError, TypeError) as error:
        return [f"{path}: {error}"]
    return []


class Endpoint:
    def info(self, ctxt, publisher_id, event_type, payload, metadata):
        self.show("INFO", publisher_id, event_type, payload, metadata)

    def error(self, ctxt, publisher_id, event_type, payload, metadata):
        self.show("ERROR", publisher_id, event_type, payload, metadata)

    @staticmethod
    def show(priority, publisher_id, event_type, payload, metadata):
        data = payload["nova_object.data"]
        about = {"type": event_type, "priority": priority, "publisher": publisher_id, "id": metadata["message_id"]}
        uuid = data.get("uuid") or data.get("instance_uuid") or data.get("flavorid") or data.get("name")
        sys.stdout.write(json.dumps({**about, "uuid": uuid, "problems": problems(payload)}) + "\n")
        sys.stdout.flush()


def main():
    conf = cfg.ConfigOpts()
    conf([])
    transport = oslo_messaging.get_notification_transport(conf, url=sys.argv[1])
    conf.set_override("control_exchange", "nova")
    target = oslo_messaging.Target(topic=TOPIC, exchange="nova")
    listener = oslo_messaging.get_notification_listener(transport, [target], [Endpoint()], executor="threading")
    # With more threads than one, what is shown first need not have come first.
    conf.set_override("executor_thread_pool_size", 1)
    listener.start()
    threading.Event().wait()


main()
