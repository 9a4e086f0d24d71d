import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { imagePropertiesFilter } from '#cells/scheduler/filters/image-properties.ts'
import { FILTER_SETTINGS } from '#cells/scheduler/testing.ts'
import { guestOptions } from '#drivers/libvirt/domains/guest-options.ts'
import { rescueDevice } from '#drivers/libvirt/domains/rescue-device.ts'
import { EXTRA_SPECS } from '#drivers/libvirt/extra-specs.ts'
import type { DomainSubject } from '#drivers/libvirt/instance-record.ts'
import { requestedPlacement } from '#drivers/libvirt/placement/requested-placement.ts'
import { checkExtraSpecs } from '#gateway/app/flavors/extra-spec-rules.ts'
import { BUILT_IN } from '#gateway/app/images/metadefs/built-in.ts'
import { isMeantForNova } from '#gateway/app/images/nova-properties.ts'

// Definitions that clients offer to users must name what has an effect, with the values that have one: they are held here against
// the code that reads them.

interface Defined {
  readonly key: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly type: string
}

/** The properties defined for a resource type, each under the name that it has there. */
function definedFor(resourceType: string): readonly Defined[] {
  return BUILT_IN.flatMap(({ resourceTypes, properties }) =>
    resourceTypes
      .filter(({ name }) => name === resourceType)
      .flatMap(({ prefix = '' }) =>
        properties.map(({ name, schema }) => ({ ...schema, key: prefix + name }) as Defined),
      ),
  )
}

const FLAVOR = definedFor('OS::Nova::Flavor')
const IMAGE = definedFor('OS::Glance::Image')
const keys = (of: readonly Defined[]) => of.map(({ key }) => key).toSorted()

/** Images and their contents are not read by the scheduler and the drivers alone. */
const NOT_NOVAS = ['kernel_id', 'ramdisk_id', 'docker_image', 'docker_command']

const LIBVIRT = readFileSync('docs/reference/libvirt.md', 'utf8')

/** The reason why a libvirt host refuses this flavor and image; undefined if it accepts them. */
function problemOf(extraSpecs: object, imageProperties: object): string | undefined {
  const flavor = { extraSpecs, vcpus: 1 }
  const subject = { flavor, imageProperties } as unknown as DomainSubject
  try {
    guestOptions(subject)
    requestedPlacement(subject)
    rescueDevice(imageProperties as Readonly<Record<string, string>>)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

test('every extra spec that libvirt hosts heed by their document is defined, and no other', () => {
  const table = LIBVIRT.slice(LIBVIRT.indexOf('| Extra spec |'))
  const rows = table.slice(0, table.indexOf('\n\n')).matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \|/gm)
  const documented = Array.from(rows, ([, cell = '']) => cell).flatMap((cell) =>
    Array.from(cell.matchAll(/`([^`]+)`/g), ([, key = '']) => key),
  )

  expect(documented.length).toBeGreaterThan(5)
  expect(keys(FLAVOR)).toEqual(documented.toSorted())
  expect(EXTRA_SPECS.toSorted()).toEqual(documented.toSorted())
})

test('every property of an image that libvirt hosts heed by their document is defined', () => {
  const line = LIBVIRT.slice(LIBVIRT.indexOf('Images may also have the properties'))
  const documented = Array.from(
    line.slice(0, line.indexOf('\n\n')).matchAll(/`((?:hw|os)_[^`]+|\w+_id)`/g),
    ([, key = '']) => key,
  )

  expect(documented.length).toBeGreaterThan(5)
  expect(documented.filter((key) => !keys(IMAGE).includes(key))).toEqual([])
})

test('properties of images are such as have a meaning for servers', () => {
  const others = keys(IMAGE).filter((key) => !isMeantForNova(key))

  expect(others).toEqual(NOT_NOVAS.toSorted())
})

describe.each(FLAVOR)('the extra spec $key', ({ key, enum: values, minimum, type }) => {
  const isValid = (value: string) => {
    try {
      checkExtraSpecs({ [key]: value })
      return true
    } catch {
      return false
    }
  }

  test('can have the values of its definition, and hosts heed them', () => {
    const samples =
      values ??
      { integer: [String(minimum)], boolean: ['true', 'false'], string: SAMPLES[key] }[type] ??
      []

    expect(samples.length).toBeGreaterThan(0)
    for (const value of samples) {
      expect(isValid(value), value).toBe(true)
      expect(problemOf({ [key]: value }, {}), value).toBeUndefined()
    }
  })

  test('is refused with others', () => {
    const wrong = type === 'integer' ? 'many' : 'nothing of the kind'
    const isRefused = !isValid(wrong) || problemOf({ [key]: wrong }, {}) !== undefined
    expect(isRefused).toBe(true)
  })
})

/** Of what the definitions cannot list. */
const SAMPLES: Readonly<Record<string, readonly string[]>> = {
  'hw:mem_page_size': ['small', 'large', 'any', '2MB'],
  'pci_passthrough:alias': ['gpu:2,nic:1'],
}

const listed = IMAGE.filter((it) => it.enum !== undefined && it.key !== 'os_type')

test.each(listed)('hosts heed the image property $key with its values alone', (defined) => {
  const { key, enum: values = [] } = defined
  const beside = key === 'hw_rescue_bus' ? { hw_rescue_device: 'disk' } : {}

  for (const value of values)
    expect(problemOf({}, { ...beside, [key]: value }), value).toBeUndefined()
  expect(problemOf({}, { ...beside, [key]: 'nothing of the kind' })).toBeDefined()
})

test('hosts are chosen by the properties that say so', () => {
  const host = {
    simulated: false,
    hypervisorType: 'KVM',
    hypervisorVersion: 7_002_000,
    architecture: 'x86_64',
    imageFormats: ['raw'],
  }
  const { properties = [] } = BUILT_IN.find(({ name }) => name === 'OS::Compute::Hypervisor') ?? {}
  const refusals = properties.map(({ name }) => {
    const value = name.includes('version') ? '>=99' : 'another'
    const image = { diskFormat: 'raw', properties: { [name]: value } }
    type FilterParameters = Parameters<typeof imagePropertiesFilter.refuse>
    return imagePropertiesFilter.refuse(
      host as unknown as FilterParameters[0],
      { image } as FilterParameters[1],
      FILTER_SETTINGS,
    )
  })

  expect(refusals).toHaveLength(6)
  expect(refusals).not.toContain(undefined)
})
