# Every kind of object that people make with Terraform here. `name` changes what can be changed in place.

terraform {
  required_providers {
    openstack = { source = "terraform-provider-openstack/openstack" }
  }
}

variable "name" {}
variable "admin_password" {}

# The user is in the environment.
provider "openstack" {}
provider "openstack" {
  alias       = "admin"
  user_name   = "admin"
  tenant_name = "admin"
  password    = var.admin_password
}

data "openstack_networking_network_v2" "public" {
  name     = "public"
  external = true
}

data "openstack_images_image_v2" "tiny" {
  name        = "tiny"
  most_recent = true
}

data "openstack_compute_flavor_v2" "tiny" { name = "m1.tiny" }

data "openstack_compute_availability_zones_v2" "zones" {}

data "openstack_networking_secgroup_v2" "default" { name = "default" }

resource "openstack_networking_subnetpool_v2" "pool" {
  name              = "pool-${var.name}"
  prefixes          = ["10.60.0.0/16", "10.70.0.0/16"]
  default_prefixlen = 26
  min_prefixlen     = 24
  max_prefixlen     = 28
  tags              = ["terraform"]
  description       = "of Terraform"
}

# Servers show their networks by name, and the provider finds theirs by it.
resource "openstack_networking_network_v2" "net" {
  name           = "net"
  admin_state_up = true
  description    = "a network ${var.name}"
  tags           = ["b", "a-${var.name}"]
  mtu            = 1400
}

resource "openstack_networking_subnet_v2" "subnet" {
  name            = "subnet-${var.name}"
  network_id      = openstack_networking_network_v2.net.id
  cidr            = "10.50.0.0/24"
  ip_version      = 4
  dns_nameservers = ["9.9.9.9", "8.8.8.8"]
  allocation_pool {
    start = "10.50.0.40"
    end   = "10.50.0.90"
  }
  allocation_pool {
    start = "10.50.0.100"
    end   = "10.50.0.200"
  }
  tags = ["x"]
}

resource "openstack_networking_network_v2" "net2" { name = "net2-${var.name}" }

resource "openstack_networking_subnet_v2" "pooled" {
  name          = "pooled-${var.name}"
  network_id    = openstack_networking_network_v2.net2.id
  subnetpool_id = openstack_networking_subnetpool_v2.pool.id
  prefix_length = 26
  no_gateway    = true
}

resource "openstack_networking_subnet_v2" "six" {
  name              = "six-${var.name}"
  network_id        = openstack_networking_network_v2.net.id
  cidr              = "fd00:50::/64"
  ip_version        = 6
  ipv6_address_mode = "slaac"
  ipv6_ra_mode      = "slaac"
}

resource "openstack_networking_subnet_route_v2" "subnet_route" {
  subnet_id        = openstack_networking_subnet_v2.subnet.id
  destination_cidr = "10.99.0.0/24"
  next_hop         = "10.50.0.5"
}

resource "openstack_networking_router_v2" "router" {
  name                = "router-${var.name}"
  external_network_id = data.openstack_networking_network_v2.public.id
  description         = "r ${var.name}"
  tags                = ["r"]
}

resource "openstack_networking_router_interface_v2" "by_subnet" {
  router_id = openstack_networking_router_v2.router.id
  subnet_id = openstack_networking_subnet_v2.subnet.id
}

resource "openstack_networking_port_v2" "router_port" {
  network_id = openstack_networking_network_v2.net.id
  name       = "leg"
  fixed_ip {
    subnet_id = openstack_networking_subnet_v2.six.id
  }
}

resource "openstack_networking_router_route_v2" "route" {
  depends_on       = [openstack_networking_router_interface_v2.by_subnet]
  router_id        = openstack_networking_router_v2.router.id
  destination_cidr = "10.98.0.0/24"
  next_hop         = "10.50.0.6"
}

resource "openstack_networking_secgroup_v2" "web" {
  name                 = "web-${var.name}"
  description          = "web ${var.name}"
  delete_default_rules = true
  tags                 = ["s"]
}

resource "openstack_networking_secgroup_rule_v2" "http" {
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "tcp"
  port_range_min    = 80
  port_range_max    = 88
  remote_ip_prefix  = "0.0.0.0/0"
  security_group_id = openstack_networking_secgroup_v2.web.id
  description       = "http"
}

resource "openstack_networking_secgroup_rule_v2" "icmp" {
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "icmp"
  security_group_id = openstack_networking_secgroup_v2.web.id
}

resource "openstack_networking_secgroup_rule_v2" "ping_type" {
  direction         = "ingress"
  ethertype         = "IPv4"
  protocol          = "icmp"
  port_range_min    = 8
  port_range_max    = 0
  remote_ip_prefix  = "192.0.2.0/24"
  security_group_id = openstack_networking_secgroup_v2.web.id
}

resource "openstack_networking_secgroup_rule_v2" "six" {
  direction         = "ingress"
  ethertype         = "IPv6"
  protocol          = "ipv6-icmp"
  security_group_id = openstack_networking_secgroup_v2.web.id
}

resource "openstack_networking_secgroup_rule_v2" "members" {
  direction         = "ingress"
  ethertype         = "IPv4"
  remote_group_id   = openstack_networking_secgroup_v2.web.id
  security_group_id = openstack_networking_secgroup_v2.web.id
}

resource "openstack_networking_secgroup_rule_v2" "esp" {
  direction         = "egress"
  ethertype         = "IPv4"
  protocol          = "esp"
  security_group_id = openstack_networking_secgroup_v2.web.id
}

resource "openstack_networking_secgroup_rule_v2" "number" {
  direction         = "egress"
  ethertype         = "IPv4"
  protocol          = "112"
  security_group_id = openstack_networking_secgroup_v2.web.id
}

resource "openstack_networking_port_v2" "port" {
  name               = "port-${var.name}"
  network_id         = openstack_networking_network_v2.net.id
  admin_state_up     = true
  description        = "p ${var.name}"
  security_group_ids = [openstack_networking_secgroup_v2.web.id]
  tags               = ["p"]
  fixed_ip {
    subnet_id  = openstack_networking_subnet_v2.subnet.id
    ip_address = "10.50.0.20"
  }
  allowed_address_pairs {
    ip_address = "10.50.0.240"
  }
  allowed_address_pairs {
    ip_address  = "10.51.0.0/24"
    mac_address = "fa:16:3e:aa:bb:cc"
  }
  extra_dhcp_option {
    name  = "mtu"
    value = "1300"
  }
}

resource "openstack_networking_port_v2" "bare" {
  name                  = "bare-${var.name}"
  network_id            = openstack_networking_network_v2.net.id
  no_security_groups    = true
  port_security_enabled = false
  fixed_ip {
    subnet_id = openstack_networking_subnet_v2.subnet.id
  }
}

resource "openstack_networking_port_secgroup_associate_v2" "more" {
  port_id            = openstack_networking_port_v2.later.id
  security_group_ids = [openstack_networking_secgroup_v2.web.id]
}

resource "openstack_networking_port_v2" "later" {
  name       = "later"
  network_id = openstack_networking_network_v2.net.id
  lifecycle { ignore_changes = [security_group_ids] }
  fixed_ip {
    subnet_id = openstack_networking_subnet_v2.subnet.id
  }
}

resource "openstack_networking_floatingip_v2" "fip" {
  pool        = "public"
  description = "f ${var.name}"
  tags        = ["f"]
}

resource "openstack_networking_floatingip_v2" "direct" {
  depends_on = [openstack_networking_router_interface_v2.by_subnet]
  pool       = "public"
  port_id    = openstack_networking_port_v2.later.id
}

resource "openstack_networking_floatingip_associate_v2" "assoc" {
  depends_on  = [openstack_networking_router_interface_v2.by_subnet]
  floating_ip = openstack_networking_floatingip_v2.fip.address
  port_id     = openstack_networking_port_v2.port.id
}

resource "openstack_compute_keypair_v2" "made" { name = "made" }

resource "openstack_compute_keypair_v2" "given" {
  name       = "given"
  public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIH0nCzY4m3xkYb9TgkZ0cGfF2Wc8o1sZp4cU5Qe8mJr3 someone"
}

resource "openstack_compute_servergroup_v2" "group" {
  name     = "group"
  policies = ["soft-anti-affinity"]
}

resource "openstack_compute_instance_v2" "server" {
  name         = "server-${var.name}"
  image_id     = data.openstack_images_image_v2.tiny.id
  flavor_id    = data.openstack_compute_flavor_v2.tiny.id
  key_pair     = openstack_compute_keypair_v2.made.name
  metadata     = { colour = "red-${var.name}" }
  tags         = ["t", "u"]
  user_data    = "#!/bin/sh\necho hello"
  config_drive = true
  network { port = openstack_networking_port_v2.port.id }
  network {
    uuid        = openstack_networking_network_v2.net.id
    fixed_ip_v4 = "10.50.0.30"
  }
  scheduler_hints { group = openstack_compute_servergroup_v2.group.id }
  depends_on = [openstack_networking_router_interface_v2.by_subnet]
}

resource "openstack_compute_instance_v2" "plain" {
  name            = "plain-${var.name}"
  image_name      = "tiny"
  flavor_name     = "m1.tiny"
  security_groups = ["default"]
  network { name = openstack_networking_network_v2.net.name }
  depends_on = [openstack_networking_subnet_v2.subnet, openstack_networking_subnet_v2.six]
}

resource "openstack_compute_interface_attach_v2" "nic" {
  instance_id = openstack_compute_instance_v2.plain.id
  port_id     = openstack_networking_port_v2.bare.id
}

resource "openstack_networking_floatingip_v2" "for_plain" { pool = "public" }

resource "openstack_compute_floatingip_associate_v2" "plain" {
  depends_on  = [openstack_networking_router_interface_v2.by_subnet]
  floating_ip = openstack_networking_floatingip_v2.for_plain.address
  instance_id = openstack_compute_instance_v2.plain.id
  fixed_ip    = [for n in openstack_compute_instance_v2.plain.network : n.fixed_ip_v4][0]
}

data "openstack_networking_port_v2" "read" {
  port_id = openstack_networking_port_v2.port.id
}

data "openstack_networking_port_ids_v2" "ids" {
  network_id     = openstack_networking_network_v2.net.id
  sort_key       = "name"
  sort_direction = "asc"
  depends_on     = [openstack_compute_interface_attach_v2.nic]
}

data "openstack_networking_subnet_v2" "read" {
  subnet_id = openstack_networking_subnet_v2.subnet.id
}

data "openstack_networking_router_v2" "read" {
  router_id = openstack_networking_router_v2.router.id
}

data "openstack_networking_floatingip_v2" "read" {
  address = openstack_networking_floatingip_v2.fip.address
}

data "openstack_networking_subnetpool_v2" "read" {
  name = openstack_networking_subnetpool_v2.pool.name
}

data "openstack_compute_keypair_v2" "read" { name = openstack_compute_keypair_v2.given.name }

resource "openstack_blockstorage_volume_v3" "data" {
  name                 = "data-${var.name}"
  size                 = (var.name == "one" ? 1 : 2)
  description          = "d ${var.name}"
  metadata             = { purpose = "test-${var.name}" }
  enable_online_resize = true
}

resource "openstack_blockstorage_volume_v3" "boot" {
  name     = "boot"
  size     = 1
  image_id = data.openstack_images_image_v2.tiny.id
}

resource "openstack_blockstorage_volume_v3" "copy" {
  name          = "copy"
  size          = 1
  source_vol_id = openstack_blockstorage_volume_v3.boot.id
}

resource "openstack_compute_volume_attach_v2" "data" {
  instance_id = openstack_compute_instance_v2.server.id
  volume_id   = openstack_blockstorage_volume_v3.data.id
}

resource "openstack_compute_instance_v2" "from_volume" {
  name        = "from-volume"
  flavor_name = "m1.tiny"
  block_device {
    uuid                  = openstack_blockstorage_volume_v3.copy.id
    source_type           = "volume"
    destination_type      = "volume"
    boot_index            = 0
    delete_on_termination = false
  }
  network { uuid = openstack_networking_network_v2.net.id }
  depends_on = [openstack_networking_subnet_v2.subnet]
}

resource "openstack_compute_instance_v2" "image_to_volume" {
  name        = "image-to-volume"
  flavor_name = "m1.tiny"
  block_device {
    uuid                  = data.openstack_images_image_v2.tiny.id
    source_type           = "image"
    destination_type      = "volume"
    volume_size           = 1
    boot_index            = 0
    delete_on_termination = true
  }
  block_device {
    source_type           = "blank"
    destination_type      = "volume"
    volume_size           = 1
    boot_index            = 1
    delete_on_termination = true
  }
  network { uuid = openstack_networking_network_v2.net.id }
  depends_on = [openstack_networking_subnet_v2.subnet]
}

resource "openstack_compute_instance_v2" "off" {
  name        = "off"
  flavor_name = "m1.tiny"
  image_name  = "tiny"
  power_state = var.name == "one" ? "active" : "shutoff"
  network { uuid = openstack_networking_network_v2.net.id }
  depends_on = [openstack_networking_subnet_v2.subnet]
}

resource "openstack_compute_flavor_v2" "flavor" {
  provider    = openstack.admin
  name        = "tf-${var.name}"
  ram         = 256
  vcpus       = 1
  disk        = 1
  swap        = 0
  ephemeral   = 0
  is_public   = false
  extra_specs = { "hw:cpu_policy" = "shared", "quota:cpu_shares" = var.name == "one" ? "10" : "20" }
}

resource "openstack_compute_flavor_access_v2" "access" {
  provider  = openstack.admin
  tenant_id = openstack_identity_project_v3.project.id
  flavor_id = openstack_compute_flavor_v2.flavor.id
}

resource "openstack_compute_aggregate_v2" "aggregate" {
  provider = openstack.admin
  name     = "agg-${var.name}"
  zone     = "zone-x"
  metadata = { ssd = var.name }
  hosts    = []
}

resource "openstack_identity_project_v3" "project" {
  provider    = openstack.admin
  name        = "tf-project-${var.name}"
  description = "p ${var.name}"
  tags        = ["a", "b"]
}

resource "openstack_identity_user_v3" "user" {
  provider           = openstack.admin
  name               = "tf-user-${var.name}"
  default_project_id = openstack_identity_project_v3.project.id
  description        = "u ${var.name}"
  password           = "secret-${var.name}-123456"
  extra              = { email = "${var.name}@example.org" }
}

resource "openstack_identity_role_v3" "role" {
  provider = openstack.admin
  name     = "tf-role-${var.name}"
}

resource "openstack_identity_group_v3" "group" {
  provider = openstack.admin
  name     = "tf-group-${var.name}"
}

data "openstack_identity_role_v3" "member" {
  provider = openstack.admin
  name     = "member"
}

resource "openstack_identity_role_assignment_v3" "assignment" {
  provider   = openstack.admin
  user_id    = openstack_identity_user_v3.user.id
  project_id = openstack_identity_project_v3.project.id
  role_id    = data.openstack_identity_role_v3.member.id
}

resource "openstack_compute_quotaset_v2" "quota" {
  provider   = openstack.admin
  project_id = openstack_identity_project_v3.project.id
  instances  = var.name == "one" ? 5 : 6
  cores      = 9
}

resource "openstack_networking_quota_v2" "quota" {
  provider   = openstack.admin
  project_id = openstack_identity_project_v3.project.id
  network    = var.name == "one" ? 5 : 6
  router     = 2
}

resource "openstack_blockstorage_quotaset_v3" "quota" {
  provider   = openstack.admin
  project_id = openstack_identity_project_v3.project.id
  volumes    = var.name == "one" ? 5 : 6
  gigabytes  = 50
}

resource "openstack_networking_rbac_policy_v2" "rbac" {
  action        = "access_as_shared"
  object_id     = openstack_networking_network_v2.net.id
  object_type   = "network"
  target_tenant = openstack_identity_project_v3.project.id
}

data "openstack_blockstorage_availability_zones_v3" "zones" {}

# Terraform writes where a network is on the wire as a segment.
resource "openstack_networking_network_v2" "vlan" {
  provider = openstack.admin
  name     = "vlan-${var.name}"
  segments {
    network_type     = "vlan"
    physical_network = "lan"
    segmentation_id  = 77
  }
}
