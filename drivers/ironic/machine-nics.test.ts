import { expect, test } from 'vitest'
import { newId, type PortId } from '#common/ids.ts'
import { givenNics } from './machine-nics.ts'

const [first, second] = [newId<PortId>(), newId<PortId>()]
const nic = (nth: number, vif?: string) => ({ macAddress: `52:54:00:00:00:0${nth}`, vif })

test('ports are the NICs that ironic has attached them to, the others follow in order', () => {
  expect([...givenNics([first, second], [nic(1), nic(2)]).values()]).toEqual([
    '52:54:00:00:00:01',
    '52:54:00:00:00:02',
  ])
  const attached = givenNics([first, second], [nic(1), nic(2), nic(3, first)])
  expect(Object.fromEntries(attached)).toEqual({
    [first]: '52:54:00:00:00:03',
    [second]: '52:54:00:00:00:01',
  })
  // What somebody else has attached there is over once the node is deployed.
  expect(givenNics([first], [nic(1, 'another')]).get(first)).toBe('52:54:00:00:00:01')
})

test('a node with fewer NICs than the server has ports is refused', () => {
  expect(() => givenNics([first, second], [nic(1, first)])).toThrow(/2 ports.*1 NICs/)
  expect(() => givenNics([first], [])).toThrow(/1 ports.*0 NICs/)
})
