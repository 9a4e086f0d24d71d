import { expect, test } from 'vitest'
import { secretsOf } from '#common/secrets.ts'
import {
  bmcSettings,
  type EnrolledNode,
  enrolledNode,
  enrolledNodes,
  isSameNode,
} from './enrolled-node.ts'

const secrets = secretsOf('ab'.repeat(32))
const bmc = { address: '192.0.2.7', port: 623, user: 'weir', privilege: 'operator' } as const
const added = {
  name: 'rack1-07',
  macAddress: '52:54:00:12:34:56',
  usesEfi: true,
  bmc: { ...bmc, password: 'known to nobody' },
}
const node: EnrolledNode = enrolledNode(added, secrets)
const fileOf = (...nodes: readonly object[]) => JSON.stringify({ nodes })

test('a password stands sealed in the file of nodes, and is good for its node and key alone', () => {
  expect(fileOf(node)).not.toContain('known to nobody')

  const [read] = enrolledNodes(fileOf(node))

  expect(bmcSettings(read!, secrets)).toEqual({ ...bmc, password: 'known to nobody' })
  expect(() => bmcSettings({ ...read!, name: 'other' }, secrets)).toThrow()
  expect(() => bmcSettings(read!, secretsOf('cd'.repeat(32)))).toThrow(/keys configured/)
})

test('the same machine is recognized after any changes', () => {
  expect(isSameNode({ ...node, maintenance: 'loud' }, added, secrets)).toBe(true)
  const other = { ...added, bmc: { ...added.bmc, password: 'another' } }
  expect(isSameNode(node, other, secrets)).toBe(false)
})

test('a node without a BMC has none', () => {
  const { bmc: _, ...plain } = node

  expect(bmcSettings(enrolledNodes(fileOf(plain))[0]!, secrets)).toBeUndefined()
})

test.each([
  ['a name that is a path', { ...node, name: '../etc' }, /name/],
  ['a class that is not one’s own', { ...node, resourceClass: 'VCPU' }, /resourceClass/],
  ['no address to boot by', { ...node, macAddress: 'any' }, /macAddress/],
  ['a misspelt field', { ...node, resource_class: 'CUSTOM_GOLD' }, /additional properties/],
])('a node with %s is refused', (_what, wrong, message) => {
  expect(() => enrolledNodes(fileOf(wrong))).toThrow(message)
})

test('no two nodes have one name, or one MAC address', () => {
  expect(() => enrolledNodes(fileOf(node, { ...node, name: 'other' }))).toThrow(/same name or MAC/)
})
