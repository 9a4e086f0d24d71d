import { describe, expect, test } from 'vitest'
import { newId, type PortId } from '#common/ids.ts'
import type { MachinePort } from '../../machine-nics.ts'
import type { NewNode } from '../../nodes.ts'
import { assignNics } from './assign-nics.ts'
import { type Node, nodeParts } from './node.ts'
import { NEW_NODE } from './node-record.ts'

const BOOT = '52:54:00:00:00:01'
const [ONE, TWO, TAGGED] = ['52:54:00:00:00:02', '52:54:00:00:00:03', '52:54:00:00:00:04']
const nics = [
  { macAddress: ONE, segment: 'SITE' },
  { macAddress: TAGGED, segment: 'SITE:7' },
  { macAddress: TWO, segment: 'SITE' },
]

function node(more: Partial<NewNode> = {}): Node {
  const enrolled = { name: 'node', macAddress: BOOT, usesEfi: false, ...more } as Node['enrolled']
  const parts = {
    ...{ cpus: 1, cpuModel: '', architecture: 'x86_64', memoryMb: 1, disks: [] },
    macAddresses: [ONE, BOOT, TWO],
  }
  const record = { ...NEW_NODE, parts }
  return { ...nodeParts(enrolled, undefined, false), name: 'node', enrolled, record }
}

let made = 0
function port(segment: string | undefined, macAddress?: string): MachinePort {
  made += 1
  const own = `fa:16:3e:00:00:${(made % 256).toString(16).padStart(2, '0')}`
  const portId = newId<PortId>()
  return { portId, macAddress: macAddress ?? own, ...(segment !== undefined && { segment }) }
}
const given = (ports: readonly MachinePort[], network: 'host' | 'ovn' = 'ovn') => [
  ...assignNics(node({ nics }), ports, network).values(),
]

describe('on OVN', () => {
  test('ports are NICs on their segments, each one NIC, and never the one that boots', () => {
    expect(given([port('SITE:7'), port('SITE'), port('SITE')])).toEqual([TAGGED, ONE, TWO])
    expect(given([])).toEqual([])
    const every = () => assignNics(node(), [port('SITE')], 'ovn')
    expect(every).toThrow('no free machine has a NIC')
  })

  test('a port with a MAC address that a user chose is the NIC that has it', () => {
    expect(given([port('SITE'), port('SITE', ONE)])).toEqual([TWO, ONE])
  })

  test.each<[string, readonly MachinePort[], string]>([
    ['a tenant network', [port(undefined)], 'on a tenant network'],
    ['another segment', [port('SITE:8')], 'is on SITE:8, where no free machine has a NIC'],
    ['more ports than NICs', [port('SITE:7'), port('SITE:7')], 'that no other port of the server'],
    ['the MAC address of no NIC', [port('SITE', '52:54:00:00:00:99')], "no free machine's NIC"],
    ['the MAC address of a NIC elsewhere', [port('SITE', TAGGED)], 'has the MAC address'],
    ['the NIC that boots', [port('SITE', BOOT)], 'has the MAC address'],
  ])('%s is refused, and another host may be tried', (_, ports, message) => {
    expect(() => given(ports)).toThrow(
      expect.objectContaining({
        kind: 'no-capacity',
        message: expect.stringContaining(message) as unknown,
      }) as Error,
    )
  })
})

test('without networks of its own ports are the NICs in their order, the one that boots first', () => {
  expect(given([port(undefined), port('SITE')], 'host')).toEqual([BOOT, ONE])
  const many = [1, 2, 3, 4].map(() => port(undefined))
  expect(() => given(many, 'host')).toThrow('has 4 ports, and its machine has 3 NICs')
})
