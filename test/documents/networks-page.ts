import { OVN_BETWEEN_MACHINES } from './outside-lines.ts'
import { pageScript } from './page-script.ts'

/** Typed on one machine with libvirt, whose cell is called `north`. */
export const NETWORKS = pageScript('docs/how-to/networks.md', {
  './weir up': {
    typed: './weir up --driver libvirt --cells 1',
    shows: /weir ssh first/,
  },
  './weir ssh first': { typed: './weir ssh first hostname', shows: /^first/m },
  './weir up --host-route': { shows: /weir-public/ },
  'openstack floating ip create public': {
    gives: { ADDRESS: /floating_ip_address +\| (203\.0\.113\.\d+)/ },
  },
  './weir ssh web': { typed: './weir ssh web hostname', shows: /^web/m },
  'openstack floating ip create --description shared public': {
    gives: { SHARED: /floating_ip_address +\| (203\.0\.113\.\d+)/ },
  },
  'openstack port list --server worker': {
    gives: { PORT: /\| ([0-9a-f-]{36}) \|/, INSIDE: /ip_address='([\d.]+)'/ },
  },
  'openstack floating ip port forwarding list SHARED': { shows: /2222/ },
  './weir network why 198.51.100.7 ADDRESS --protocol tcp --port 80': {
    shows: /REACHES +yes/,
  },
  './weir network why ADDRESS 198.51.100.7': { shows: /REACHES +yes/ },
  'openstack --os-cloud weir-admin network create --share --provider-network-type vlan --provider-physical-network SITE --provider-segment 7 site-7':
    {
      typed:
        'openstack --os-cloud weir-admin network create --share --provider-network-type vlan --provider-physical-network public --provider-segment 7 site-7',
      shows: /site-7/,
    },
  './weir cell verify': { shows: /no tunnels between cells to test/ },
  './weir cell update south --transport-zone east': {
    typed: './weir cell update north --transport-zone east',
  },
  './weir cell update edge-1 --transport-zone edge': {
    typed: './weir cell update north --no-transport-zone',
  },
  './weir why SERVER': { typed: './weir why first', shows: /north/ },
  ...OVN_BETWEEN_MACHINES,
})
