import { expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { sampleBuild } from '#test/env/sample-build.ts'
import { configDriveFiles } from './config-drive.ts'

test('a file of the user is on the drive, and its path in the metadata', () => {
  const file = { path: '/etc/motd', contents: Buffer.from('hello').toString('base64') }

  const drive = configDriveFiles(newId(), sampleBuild({ files: [file] }))

  expect(Buffer.from(drive['openstack/content/0000']!).toString()).toBe('hello')
  const metadata = JSON.parse(Buffer.from(drive['openstack/latest/meta_data.json']!).toString())
  expect(metadata).toMatchObject({
    files: [{ content_path: '/content/0000', path: '/etc/motd' }],
  })
})

test('a guest gets the routes of a subnet besides the default route, except by DHCP, which sends them itself', () => {
  const route = { destination: '192.0.2.0/24', nexthop: '10.0.0.9' }
  const ip = {
    ...{ address: '10.0.0.5', cidr: '10.0.0.0/24', gateway: '10.0.0.1', dhcp: false },
    ...{ dnsServers: [], hostRoutes: [route] },
  }
  const v6 = { ...ip, address: 'fd00::5', cidr: 'fd00::/64', gateway: 'fd00::1', hostRoutes: [] }
  const nic = { portId: newId(), networkId: newId(), macAddress: 'fa:16:3e:00:00:01', mtu: 1450 }
  const nics = [{ ...nic, fixedIps: [ip, { ...ip, dhcp: true }, { ...ip, gateway: null }, v6] }]

  const drive = configDriveFiles(newId(), sampleBuild({ nics } as object))

  const data = Buffer.from(drive['openstack/latest/network_data.json']!).toString()
  const pushed = { network: '192.0.2.0', netmask: '255.255.255.0', gateway: '10.0.0.9' }
  expect(
    (JSON.parse(data) as { networks: readonly { routes?: unknown }[] }).networks,
  ).toMatchObject([
    { routes: [{ network: '0.0.0.0', netmask: '0.0.0.0', gateway: '10.0.0.1' }, pushed] },
    { type: 'ipv4_dhcp' },
    { routes: [pushed] },
    { routes: [{ network: '::', netmask: '::', gateway: 'fd00::1' }] },
  ])
})
