import { expect, test } from 'vitest'
import { type CellId, type HostId, type NetworkId, newId, type PortId } from '#common/ids.ts'
import type { ImageSpec, NicSpec } from '../../driver.ts'
import { instanceSpec } from '../../testing/instance-spec.ts'
import { domainSubject } from '../instance-record.ts'
import { networkName } from '../networks/network-name.ts'
import { attributeAt, elementsAt, parseXml } from '../xml/parse.ts'
import { asElsewhere } from './as-elsewhere.ts'

const owner = () => ({ cellId: newId<CellId>(), hostId: newId<HostId>() })
const from = { owner: owner(), stateDirectory: '/hosts/a&b' }
const to = { owner: owner(), stateDirectory: '/hosts/"c"' }

test('devices stay where they are, and files, networks and stamp are those of the other host', () => {
  const ids = { networkId: newId<NetworkId>(), portId: newId<PortId>() }
  const nic: NicSpec = { ...ids, macAddress: 'fa:16:3e:00:00:01', mtu: 1450, fixedIps: [] }
  const spec = instanceSpec({ properties: {} } as ImageSpec, { nics: [nic] })
  const record = {
    version: 1,
    imageSha256: '',
    nics: spec.nics,
    domain: domainSubject(spec),
  } as const
  const network = networkName(from.owner, nic.networkId)
  const xml = `<?xml version='1.0'?><domain type='qemu'>
    <metadata><weir:owned xmlns:weir="urn" cell="x" host="y"/></metadata>
    <title>a &amp;lt; b</title>
    <devices><emulator>/usr/bin/qemu</emulator>
      <disk><source file='/hosts/a&amp;b/instances/1/root.qcow2'/>
        <backingStore type='file'><source file='/hosts/a&amp;b/images/1'/></backingStore>
        <address slot='0x05'/></disk>
      <disk><source file='/hosts/a&amp;bc/other'/></disk>
      <interface><source network='${network}'/></interface>
    </devices></domain>`

  const moved = asElsewhere(xml, { id: spec.id, record }, from, to)

  const tree = parseXml(moved)
  const disks = elementsAt(tree, 'domain', 'devices', 'disk')
  expect(attributeAt(disks[0]!, 'file', 'source')).toBe(
    '/hosts/&quot;c&quot;/instances/1/root.qcow2',
  )
  expect(attributeAt(disks[0]!, 'slot', 'address')).toBe('0x05')
  expect(attributeAt(disks[1]!, 'file', 'source')).toBe('/hosts/a&amp;bc/other')
  expect(attributeAt(tree, 'network', 'domain', 'devices', 'interface', 'source')).toBe(
    networkName(to.owner, nic.networkId),
  )
  expect(attributeAt(tree, 'host', 'domain', 'metadata', 'owned')).toBe(to.owner.hostId)
  expect(moved).toContain('a &amp;lt; b')
  expect(moved).not.toMatch(/emulator|backingStore|\?xml/)
})
