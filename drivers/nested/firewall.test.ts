import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { type InstanceId, type NetworkId, newId, type PortId } from '#common/ids.ts'
import type { PortFilter } from '../firewall.ts'
import { InstanceLocks } from '../instance-locks.ts'
import { nestedFirewall } from './firewall.ts'

const SIGNAL = AbortSignal.timeout(10_000)

function filterOf(groupIds: readonly string[]): PortFilter {
  const nic = {
    ...{ portId: newId<PortId>(), networkId: newId<NetworkId>(), mtu: 1450 },
    ...{ macAddress: 'fa:16:3e:00:00:01', fixedIps: [] },
  }
  return { instance: newId<InstanceId>(), nic, rules: [], groupIds }
}

/** A host whose cloud refuses every group called `bad`. */
function hostOf({ nic }: PortFilter) {
  let asked = 0
  const record = { portIds: [nic.portId], groupIds: ['bad', 'good'] }
  const host = {
    locks: new InstanceLocks(),
    logger: undefined,
    records: { get: () => record },
    networks: { changePort: async () => true },
    groups: {
      ensureWith: async (id: string) => {
        asked += 1
        if (id === 'bad') throw new Failure('forbidden', 'The nested cloud does not allow this.')
        return `below-${id}`
      },
    },
  } as unknown as Parameters<typeof nestedFirewall>[0]
  return { host, asked: () => asked }
}

test('a rule that the cloud refuses is never reported as applied', async () => {
  const filter = filterOf(['bad'])
  const { host, asked } = hostOf(filter)
  const firewall = nestedFirewall(host)

  for (const _ of [1, 2, 3]) expect(await firewall.apply([filter], SIGNAL)).toEqual([])
  expect(asked()).toBe(1)

  const other = { ...filter, groupIds: ['good'] }
  expect(await firewall.apply([other], SIGNAL)).toEqual([filter.nic.portId])
  expect(await firewall.apply([filter], SIGNAL)).toEqual([])
  expect(asked()).toBe(3)
})
