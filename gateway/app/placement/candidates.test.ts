import { describe, expect, test } from 'vitest'
import { candidatesAmong } from './candidates.ts'
import type { ProvidedInventory, Provider, ProviderTree } from './provider.ts'

type Inventories = Readonly<Record<string, Partial<ProvidedInventory>>>

let serial = 0
const uuid = () => `00000000-0000-4000-8000-${String((serial += 1)).padStart(12, '0')}`

function provider(
  name: string,
  inventories: Inventories,
  change: Partial<Provider> = {},
): Provider {
  const id = uuid()
  const inventory = (given: Partial<ProvidedInventory>): ProvidedInventory => {
    const { total = 8, used = 0, capacity = total, maxUnit = total } = given
    const units = { reserved: 0, allocationRatio: 1, minUnit: 1, stepSize: 1 }
    return { ...units, ...given, total, used, capacity, maxUnit }
  }
  return {
    ...{
      id,
      rootId: id,
      parentId: null,
      name,
      host: name,
      generation: 1,
      traits: [],
      aggregates: [],
    },
    inventories: new Map(
      Object.entries(inventories).map(([of, given]) => [of, inventory(given)] as const),
    ),
    ...change,
  }
}

/** A host of 8 VCPUs and 1,000 MiB, with two kinds of devices, one below the other. */
function tree(name = 'host', change: Partial<Provider> = {}): ProviderTree {
  const root = provider(
    name,
    { VCPU: {}, MEMORY_MB: { total: 1_000 } },
    { traits: ['COMPUTE_NODE'], ...change },
  )
  const below = { rootId: root.id, aggregates: root.aggregates }
  const card = provider(
    `${name}_card`,
    { CUSTOM_PORT: { total: 2 } },
    { ...below, parentId: root.id, traits: ['CUSTOM_FAST'] },
  )
  const other = provider(`${name}_other`, { CUSTOM_PORT: {} }, { ...below, parentId: root.id })
  const part = provider(`${name}_part`, { VGPU: {} }, { ...below, parentId: card.id })
  return [root, card, other, part]
}

/** The candidates by the names of providers. */
function ask(trees: readonly ProviderTree[], query: Record<string, unknown>, seesParts = true) {
  const { candidates } = candidatesAmong(trees, query, seesParts)
  return candidates.map(({ allocations, mappings }) => ({
    holds: Object.fromEntries([...allocations].map(([{ name }, amounts]) => [name, amounts])),
    groups: Object.fromEntries(
      [...mappings].map(([suffix, providers]) => [suffix, providers.map(({ name }) => name)]),
    ),
  }))
}
const held = (query: Record<string, unknown>, trees = [tree()]) =>
  ask(trees, query).map(({ holds }) => holds)

describe('the group without suffix', () => {
  test('may be spread over a host and what is below it, in every way', () => {
    expect(ask([tree()], { resources: 'VCPU:1,CUSTOM_PORT:1' })).toEqual([
      {
        holds: { host: { VCPU: 1 }, host_card: { CUSTOM_PORT: 1 } },
        groups: { '': ['host', 'host_card'] },
      },
      {
        holds: { host: { VCPU: 1 }, host_other: { CUSTOM_PORT: 1 } },
        groups: { '': ['host', 'host_other'] },
      },
    ])
  })

  test('has the traits of all of its providers together', () => {
    const port = 'VCPU:1,CUSTOM_PORT:1'
    expect(held({ resources: port, required: ['CUSTOM_FAST', 'COMPUTE_NODE'] })).toEqual([
      { host: { VCPU: 1 }, host_card: { CUSTOM_PORT: 1 } },
    ])
    expect(held({ resources: port, required: ['!CUSTOM_FAST'] })).toEqual([
      { host: { VCPU: 1 }, host_other: { CUSTOM_PORT: 1 } },
    ])
    expect(held({ resources: 'VCPU:1', required: ['CUSTOM_FAST'] })).toEqual([])
  })

  test('gives nothing of parts to clients that do not know them', () => {
    expect(ask([tree()], { resources: 'VCPU:1,CUSTOM_PORT:1' }, false)).toEqual([])
    expect(ask([tree()], { resources: 'VCPU:1' }, false)).toHaveLength(1)
  })
})

describe('a group with a suffix', () => {
  test('is satisfied by one provider alone', () => {
    expect(held({ resources1: 'VCPU:1,CUSTOM_PORT:1' })).toEqual([])
    expect(held({ resources1: 'CUSTOM_PORT:1', required1: ['CUSTOM_FAST'] })).toEqual([
      { host_card: { CUSTOM_PORT: 1 } },
    ])
    expect(held({ resources1: 'CUSTOM_PORT:1', required1: ['COMPUTE_NODE'] })).toEqual([])
  })

  test('adds to what others take of the same provider', () => {
    const two = { resources1: 'CUSTOM_PORT:1', resources2: 'CUSTOM_PORT:2' }
    expect(held({ ...two, group_policy: 'none' })).toEqual([
      { host_card: { CUSTOM_PORT: 1 }, host_other: { CUSTOM_PORT: 2 } },
      { host_other: { CUSTOM_PORT: 1 }, host_card: { CUSTOM_PORT: 2 } },
      { host_other: { CUSTOM_PORT: 3 } },
    ])
    expect(held({ resources: 'VCPU:7', resources1: 'VCPU:1' })).toEqual([{ host: { VCPU: 8 } }])
    expect(held({ resources: 'VCPU:7', resources1: 'VCPU:2' })).toEqual([])
  })

  test('may have to have a provider of its own', () => {
    const two = { resources1: 'CUSTOM_PORT:1', resources2: 'CUSTOM_PORT:1' }
    expect(held({ ...two, group_policy: 'isolate' })).toEqual([
      { host_card: { CUSTOM_PORT: 1 }, host_other: { CUSTOM_PORT: 1 } },
      { host_other: { CUSTOM_PORT: 1 }, host_card: { CUSTOM_PORT: 1 } },
    ])
    const three = { ...two, resources3: 'CUSTOM_PORT:1' }
    expect(held({ ...three, group_policy: 'isolate' })).toEqual([])
    // The group without suffix is with any of them.
    const shared = { resources: 'CUSTOM_PORT:1', resources1: 'CUSTOM_PORT:1' }
    expect(held({ ...shared, group_policy: 'isolate' })).toContainEqual({
      host_card: { CUSTOM_PORT: 2 },
    })
  })
})

describe('same_subtree', () => {
  test('wants one of the providers above the others', () => {
    const port = { resources_PORT: 'CUSTOM_PORT:1', resources_GPU: 'VGPU:1' }
    const asked = { ...port, group_policy: 'none', same_subtree: ['_PORT,_GPU'] }
    expect(held(asked)).toEqual([{ host_card: { CUSTOM_PORT: 1 }, host_part: { VGPU: 1 } }])
    expect(held({ ...port, group_policy: 'none' })).toHaveLength(2)
  })

  test('lets a group that takes nothing say where others are', () => {
    const groups = { resources_GPU: 'VGPU:1', required_CARD: ['CUSTOM_FAST'] }
    const asked = { ...groups, group_policy: 'none' }
    expect(ask([tree()], { ...asked, same_subtree: ['_GPU,_CARD'] })).toEqual([
      {
        holds: { host_part: { VGPU: 1 } },
        groups: { _GPU: ['host_part'], _CARD: ['host_card'] },
      },
    ])
    const notFast = { ...asked, required_CARD: ['!CUSTOM_FAST'], same_subtree: ['_GPU,_CARD'] }
    // Below the host itself, and the part alone: both give the same.
    expect(ask([tree()], notFast)).toEqual([
      { holds: { host_part: { VGPU: 1 } }, groups: { _GPU: ['host_part'], _CARD: ['host'] } },
      { holds: { host_part: { VGPU: 1 } }, groups: { _GPU: ['host_part'], _CARD: ['host_part'] } },
    ])
    // A provider of its own is not that of another group, whether it gives something or not.
    expect(ask([tree()], { ...notFast, group_policy: 'isolate' })).toEqual([
      { holds: { host_part: { VGPU: 1 } }, groups: { _GPU: ['host_part'], _CARD: ['host'] } },
    ])
  })

  test('is of candidates that differ only in which group has which provider', () => {
    const one = { resources1: 'CUSTOM_PORT:1', resources2: 'CUSTOM_PORT:1' }
    const found = ask([tree()], { ...one, group_policy: 'isolate' })
    expect(found.map(({ groups }) => groups)).toEqual([
      { 1: ['host_card'], 2: ['host_other'] },
      { 1: ['host_other'], 2: ['host_card'] },
    ])
  })
})

describe('an amount', () => {
  const one = (inventory: Partial<ProvidedInventory>, amount: number) =>
    held({ resources: `VCPU:${amount}` }, [[provider('host', { VCPU: inventory })]])

  test('is within the free capacity', () => {
    expect(one({ total: 4, capacity: 8, maxUnit: 8, used: 5 }, 3)).toHaveLength(1)
    expect(one({ total: 4, capacity: 8, maxUnit: 8, used: 5 }, 4)).toEqual([])
  })

  test('is from the least to the most of one consumer, in whole steps', () => {
    const pages = { total: 100, minUnit: 4, maxUnit: 8, stepSize: 2 }
    for (const amount of [4, 6, 8]) expect(one(pages, amount)).toHaveLength(1)
    for (const amount of [2, 5, 10]) expect(one(pages, amount)).toEqual([])
  })

  test('is at most that of one consumer over all groups', () => {
    const machines: ProviderTree[] = [[provider('rack', { CUSTOM_GOLD: { maxUnit: 1 } })]]
    const two = { resources1: 'CUSTOM_GOLD:1', resources2: 'CUSTOM_GOLD:1', group_policy: 'none' }
    expect(held(two, machines)).toEqual([])
    expect(held({ resources1: 'CUSTOM_GOLD:1' }, machines)).toHaveLength(1)
  })
})

test('hosts are chosen by traits, aggregates and trees, and limited', () => {
  const group = uuid()
  const [first, second] = [tree('a', { aggregates: [group] }), tree('b', { traits: ['CUSTOM_X'] })]
  const of = (query: Record<string, unknown>) =>
    held({ resources: 'VGPU:1', ...query }, [first, second]).map((each) => Object.keys(each)[0])

  expect(of({})).toEqual(['a_part', 'b_part'])
  expect(of({ limit: 1 })).toEqual(['a_part'])
  expect(of({ root_required: 'CUSTOM_X' })).toEqual(['b_part'])
  expect(of({ root_required: '!CUSTOM_X' })).toEqual(['a_part'])
  expect(of({ member_of: [group] })).toEqual(['a_part'])
  expect(of({ member_of: [`!${group}`] })).toEqual(['b_part'])
  expect(of({ in_tree: second[1]!.id })).toEqual(['b_part'])
  expect(of({ resources1: 'VCPU:1', in_tree1: first[0].id })).toEqual(['a_part'])
})

test('only hosts with candidates are summarized, and all classes asked for are known', () => {
  const [first, second] = [tree('a'), tree('b', { traits: ['CUSTOM_X'] })]
  const query = { resources: 'VCPU:1', resources1: 'VGPU:1', root_required: 'CUSTOM_X' }
  const { trees, requested } = candidatesAmong([first, second], query, true)

  expect(trees).toEqual([second])
  expect([...requested]).toEqual(['VCPU', 'VGPU'])
})

test('a request whose groups multiply beyond measure ends', () => {
  const groups = Array.from({ length: 40 }, (_, nth) => [`resources${nth + 1}`, 'CUSTOM_PORT:1'])
  expect(held({ ...Object.fromEntries(groups), group_policy: 'none' })).toEqual([])
})

test('a host with more combinations than are tried takes nothing from the hosts after it', () => {
  const groups = Array.from({ length: 40 }, (_, nth) => [`resources${nth + 1}`, 'CUSTOM_PORT:1'])
  const query = { ...Object.fromEntries(groups), group_policy: 'none', limit: 1 }
  const wide = [provider('wide', { CUSTOM_PORT: { total: 40 } })] as const

  expect(held(query, [tree('a'), tree('b'), wide])).toEqual([{ wide: { CUSTOM_PORT: 40 } }])
})

test('classes that many parts of a host have are combined as far as combinations are tried', () => {
  const classes = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'].map((name) => `CUSTOM_${name}`)
  const inventories = Object.fromEntries(classes.map((name) => [name, {}]))
  const root = provider('host', inventories)
  const below = { rootId: root.id, parentId: root.id }
  const parts = Array.from({ length: 31 }, (_, nth) => provider(`part-${nth}`, inventories, below))
  const resources = classes.map((name) => `${name}:1`).join(',')

  expect(ask([[root, ...parts]], { resources, limit: 2 })).toHaveLength(2)
})

test('each of many hosts has its candidates', () => {
  const many = Array.from({ length: 20_001 }, (_, nth) => {
    return [provider(`host-${nth}`, { VCPU: {} })] as const
  })
  expect(ask(many, { resources: 'VCPU:1' })).toHaveLength(20_001)
  expect(ask(many, { resources: 'VCPU:1', limit: 3 })).toHaveLength(3)
})

test('a choice of traits of which one is not forbidden contradicts nothing', () => {
  const asked = { resources: 'VCPU:1', required: ['in:COMPUTE_NODE,CUSTOM_X', '!CUSTOM_X'] }
  expect(held(asked)).toEqual([{ host: { VCPU: 1 } }])
})

test.each([
  [{}, 'There must be at least one resources'],
  [{ required: ['COMPUTE_NODE'] }, 'There must be at least one resources'],
  [{ resources1: 'VCPU:1', resources2: 'VCPU:1' }, '"group_policy" parameter is required'],
  [
    { resources1: 'VCPU:1', required2: ['A'], same_subtree: ['1,2'] },
    '"group_policy" parameter is required',
  ],
  [{ resources: 'VCPU:1', required1: ['COMPUTE_NODE'] }, 'group "1" has neither'],
  [{ resources1: 'VCPU:1', required: ['COMPUTE_NODE'] }, 'group "" has neither'],
  [{ resources1: 'VCPU:1', same_subtree: ['1,2'] }, '2 not found in 1'],
  [{ resources1: 'VCPU:1', same_subtree: [''] }, 'not found in 1'],
  [{ resources1: 'VCPU:1', required1: ['A,!A'] }, 'traits keys: required1: (A)'],
  [{ resources: 'VCPU:1', required: ['A', '!A'] }, 'traits keys: required: (A)'],
  [{ resources: 'VCPU:1', required: ['in:B,A', '!A', '!B'] }, 'traits keys: required: (A, B)'],
  [{ resources1: 'VCPU:0' }, 'Badly formed resources'],
  [{ resources1: 'VCPU:1', in_tree1: 'x' }, "'x' is not a UUID"],
] as const)('%j is refused, though no host is asked: %s', (query, reason) => {
  expect(() => candidatesAmong([], query, true)).toThrow(reason)
})
