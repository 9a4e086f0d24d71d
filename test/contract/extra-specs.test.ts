import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { RESOURCE_CLASSES } from '#common/resource-classes.ts'
import { asksForNothing } from '#common/undemanding-specs.ts'
import { EXTRA_SPECS as DOCKER } from '#drivers/docker/images/heeded-properties.ts'
import type { DriverName } from '#drivers/driver.ts'
import { EXTRA_SPECS as LIBVIRT } from '#drivers/libvirt/extra-specs.ts'
import { MACHINE_EXTRA_SPECS as MACHINES } from '#drivers/machine-properties.ts'
import { matchFlavor } from '#drivers/nested/map/match-flavor.ts'
import { checkExtraSpecs } from '#gateway/app/flavors/extra-spec-rules.ts'
import {
  type Heeding,
  libvirtGuest,
  type Outcome,
  outcomeOf,
  type Specs,
} from './extra-spec-effects.ts'
import published from './nova-extra-specs.json' with { type: 'json' }

// Goal: no extra spec that Nova publishes is accepted without effect. For every driver, each value of each one is refused with the
// reason, changes what the server takes or what its guest is, or asks for nothing that the guest does not have anyway.

/** Simulated hosts simulate any hardware, and nested clouds are asked for the same extra specs: both are below. */
const DRIVERS: Readonly<Record<Exclude<DriverName, 'fake' | 'nested'>, Heeding>> = {
  libvirt: { extraSpecs: LIBVIRT, isOfMachines: false, guestOf: libvirtGuest },
  docker: { extraSpecs: DOCKER, isOfMachines: false, guestOf: () => null },
  baremetal: { extraSpecs: MACHINES, isOfMachines: true, guestOf: () => null },
  ironic: { extraSpecs: MACHINES, isOfMachines: true, guestOf: () => null },
}

interface Published {
  readonly type: string
  readonly enum?: readonly string[]
  readonly min?: number
  readonly max?: number
}
const PUBLISHED: Readonly<Record<string, Published>> = published.extraSpecs
const NAMES = Object.keys(PUBLISHED)

/** Of the names' parameters, such values as there may be. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  '{key}': ['tier'],
  '{filter}': ['', ':arch', ':topology:cores'],
  '{num}': ['0', '1'],
  '{group}': ['', '1'],
  '{class}': RESOURCE_CLASSES,
  '{resource}': ['GOLD', 'LEAD'],
  '{trait_name}': ['COMPUTE_NODE', 'HW_CPU_X86_VMX'],
  '{trait}': ['GOLD', 'LEAD'],
}
/** Of those that are any text: what hosts of the walk meet, and do not. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  'hw:cpu_dedicated_mask': ['0-1'],
  'hw:cpu_realtime_mask': ['^0'],
  'hw:numa_cpus.{num}': ['0-1'],
  'hw:mem_page_size': ['small', 'large', 'any', '4', '2MB', '1GB', '3MB'],
  'hw:pmem': ['6GB'],
  'pci_passthrough:alias': ['gpu:1', 'gpu:9', 'nic:1'],
}
/** What does not stand alone: groups, and the period of a rate. */
const BESIDE: Readonly<Record<string, Specs>> = {
  'hw_rng:rate_period': { 'hw_rng:rate_bytes': '1024' },
  group_policy: { 'resources1:VCPU': '1', 'resources2:VCPU': '1' },
  trait1: { 'resources1:VCPU': '1' },
}
/** What a host of a driver does without being asked. */
const AS_USUAL: Readonly<Record<string, readonly string[]>> = {
  libvirt: ['hw_rng:allowed=true', 'hw:mem_page_size=4'],
}
/** Whether a host suits is judged by these, whatever its driver. */
const PLACING =
  /^(?:aggregate_instance_extra_specs|capabilities|resources.*|trait.*):|^group_policy$/

const keysOf = (name: string): readonly string[] => {
  const [parameter] = /\{\w+\}/.exec(name) ?? []
  if (parameter === undefined) return [name]
  return PARAMETERS[parameter]!.flatMap((value) => keysOf(name.replace(parameter, value)))
}

function valuesOf(name: string): readonly string[] {
  const { type, enum: values, min = -1, max = 4 } = PUBLISHED[name]!
  if (values !== undefined) return values
  if (type === 'bool') return ['true', 'false']
  if (type === 'int') return ['-1', '0', '1', '2', '4'].filter((n) => +n >= min && +n <= max)
  if (PLACING.test(name)) return ['gold', '>= 1', '== 8', 'x86_64', 's== QEMU', '<in> a']
  return TEXTS[name] ?? ['anything']
}

const besides = (key: string): Specs => BESIDE[key] ?? BESIDE[key.split(':')[0]!] ?? {}

interface Step {
  readonly key: string
  readonly value: string
  readonly outcome: Outcome
}
const walked = new Map<Heeding, Map<string, readonly Step[]>>()

/** Of an extra spec, every key and value that the walk tries. */
function walk(driver: Heeding, name: string): readonly Step[] {
  const known = walked.get(driver) ?? new Map<string, readonly Step[]>()
  walked.set(driver, known)
  const steps =
    known.get(name) ??
    keysOf(name).flatMap((key) =>
      valuesOf(name).map((value) => ({ key, value, outcome: judge(driver, key, value) })),
    )
  known.set(name, steps)
  return steps
}

function judge(driver: Heeding, key: string, value: string): Outcome {
  const asked = { [key]: value }
  try {
    checkExtraSpecs(asked)
  } catch (error) {
    return { is: 'refused', by: 'the flavor', reason: (error as Error).message }
  }
  return outcomeOf(driver, asked, besides(key))
}

describe.each(Object.entries(DRIVERS))('on hosts with the driver %s', (driver, heeding) => {
  test.each(NAMES)('%s is refused, or has an effect', (name) => {
    const outcomes = walk(heeding, name)
    const without = outcomes.filter(({ outcome }) => outcome.is === 'the same')
    const idle = without.filter(({ key, value }) => !isExcused(driver, key, value))

    expect(outcomes.length).toBeGreaterThan(0)
    expect(without.length).toBeLessThan(outcomes.length)
    expect(idle.map(({ key, value }) => `${key}=${value}`)).toEqual([])
  })

  test.each(NAMES)('who refuses %s names it, or what the host lacks of it', (name) => {
    for (const { key, value, outcome } of walk(heeding, name)) {
      if (outcome.is !== 'refused') continue
      const [scope = '', ...rest] = key.split(':')
      const words = [key, rest.join(':') || scope, `${scope}:`, ...(LACKING[scope] ?? [])]
      const isNamed = words.some((word) => outcome.reason.includes(word))
      expect(isNamed, `${key}=${value}: ${outcome.reason}`).toBe(true)
    }
  })

  test('no extra spec is said to be heeded that Nova does not publish', () => {
    expect(heeding.extraSpecs.filter((key) => !NAMES.includes(key))).toEqual([])
  })
})

/** What the filters of room call that which these ask for. */
const LACKING: Readonly<Record<string, readonly string[]>> = {
  hw: ['NUMA nodes', 'CUSTOM_HUGEPAGE_', 'PCPU'],
  hw_rng: ['hw_rng:rate_bytes'],
  pci_passthrough: ['CUSTOM_PCI_'],
}

/** One that a host of the walk happens to meet chooses hosts all the same; the others ask for nothing. */
function isExcused(driver: string, key: string, value: string): boolean {
  return (
    PLACING.test(key) ||
    asksForNothing(key, value) ||
    AS_USUAL[driver]?.includes(`${key}=${value}`) === true
  )
}

describe('whichever driver hosts have', () => {
  test.each(NAMES.filter((name) => PLACING.test(name)))('%s chooses among them', (name) => {
    const outcomes = walk(DRIVERS.libvirt, name).map(({ outcome }) => outcome)
    const refusing = outcomes.flatMap((outcome) => (outcome.is === 'refused' ? [outcome.by] : []))

    expect(refusing.length).toBeGreaterThan(0)
    expect(refusing.every((by) => by === 'the flavor')).toBe(false)
  })
})

test.each(NAMES)('a nested cloud serves %s by a flavor that has the same', (name) => {
  for (const key of keysOf(name).filter((each) => !each.startsWith('aggregate_'))) {
    const specs = { ...besides(key), [key]: valuesOf(name)[0]! }
    const ours = { ...FLAVOR, extraSpecs: specs }
    const theirs = (extra_specs: Specs) => {
      return [{ id: 'a', name: 'a', vcpus: 1, ram: 512, disk: 5, swap: '' as const, extra_specs }]
    }
    expect(matchFlavor(ours, theirs({})), key).toBeUndefined()
    expect(matchFlavor(ours, theirs(specs))?.id, key).toBe('a')
  }
})

const FLAVOR = {
  ...{ id: 'ours', name: 'small', vcpus: 1, memoryMb: 512, rootGb: 5, ephemeralGb: 0, swapMb: 0 },
  extraSpecs: {},
}

test.each(NAMES)(
  'a flavor can have %s with the values that Nova takes, none of which is negative but as no limit',
  (name) => {
    const { type, enum: values = [] } = PUBLISHED[name]!
    const own = type === 'bool' ? ['true', 'off', 'Yes', '0'] : values
    for (const key of keysOf(name))
      for (const value of [...own, ...valuesOf(name).filter((text) => text !== '-1')])
        expect(() => checkExtraSpecs({ [key]: value }), `${key}=${value}`).not.toThrow()
  },
)

// `npx vitest run test/contract/extra-specs.test.ts -u` rewrites the page.
test('docs/reference/drivers.md shows which extra specs have an effect', async () => {
  const page = await readFile('docs/reference/drivers.md', 'utf8')
  const [before, , after] = page.split(MARK)
  const written = [before, `\n\n${tables()}\n`, after].join(MARK)
  await expect(written).toMatchFileSnapshot('../../docs/reference/drivers.md')
})

const MARK = '<!-- extra specs -->'

function tables(): string {
  const effect = (driver: Heeding, name: string) => {
    const effective = walk(driver, name).filter(({ outcome }) => outcome.is === 'effective')
    if (effective.length === 0) return 'no'
    const { enum: values, type } = PUBLISHED[name]!
    const texts = [...new Set(effective.map(({ value }) => `\`${value}\``))]
    return values === undefined && type !== 'bool' ? 'yes' : texts.join(', ')
  }
  const hardware = NAMES.filter((name) => !PLACING.test(name))
  const rows = hardware.map((name) => {
    return [`\`${name}\``, ...Object.values(DRIVERS).map((driver) => effect(driver, name))]
  })
  const withEffect = rows.filter((row) => row.slice(1).some((cell) => cell !== 'no'))
  const without = rows.filter((row) => !withEffect.includes(row)).map(([name]) => name)
  const head = ['Extra spec', ...Object.keys(DRIVERS).map((name) => `\`${name}\``)]
  const lines = [head, head.map(() => '---'), ...withEffect].map((row) => `| ${row.join(' | ')} |`)
  return `${lines.join('\n')}\n\nThese have an effect on no host so far, and every real host refuses them: ${without.join(', ')}.\n`
}
