import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { imagePropertiesFilter } from '#cells/scheduler/filters/image-properties.ts'
import { FILTER_SETTINGS, hostState, placementRequest } from '#cells/scheduler/testing.ts'
import {
  GUEST_PROPERTIES,
  INFORMATIVE_PROPERTIES,
  PLACING_PROPERTIES,
} from '#common/image-properties.ts'
import { IMAGE_PROPERTIES as DOCKER } from '#drivers/docker/images/heeded-properties.ts'
import { guestOptions } from '#drivers/libvirt/domains/guest-options.ts'
import { rescueDevice } from '#drivers/libvirt/domains/rescue-device.ts'
import { IMAGE_PROPERTIES as LIBVIRT } from '#drivers/libvirt/image-properties.ts'
import type { DomainSubject } from '#drivers/libvirt/instance-record.ts'
import { requestedPlacement } from '#drivers/libvirt/placement/requested-placement.ts'
import { MACHINE_IMAGE_PROPERTIES as MACHINES } from '#drivers/machine-properties.ts'
import { isMeantForNova, NOVA_PROPERTIES } from '#gateway/app/images/nova-properties.ts'

// Goal: no property of an image that means something to Nova is accepted without effect. Each one has an effect, is refused by
// every host where it has none, or is one by which no server differs.

const HEEDED = { libvirt: LIBVIRT, docker: DOCKER, baremetal: MACHINES, ironic: MACHINES }
/** Read from the image's record, not among the guest's options. */
const READ_ELSEWHERE = ['kernel_id', 'ramdisk_id', 'os_command_line']
/** Before and after the parts of the page that are rewritten. */
const GUEST_MARK = '<!-- properties about guests -->'
const INFORMATIVE_MARK = '<!-- properties without effect -->'
const informative = [...INFORMATIVE_PROPERTIES.values()].flat()

const refusal = (imageProperties: readonly string[], properties: Record<string, string>) =>
  imagePropertiesFilter.refuse(
    hostState('a', { imageProperties }),
    placementRequest({ image: { diskFormat: 'raw', properties } }),
    FILTER_SETTINGS,
  )

test('every property that Nova knows is of exactly one kind', () => {
  const all = [...GUEST_PROPERTIES, ...PLACING_PROPERTIES, ...informative]

  expect(all.filter((name, index) => all.indexOf(name) !== index)).toEqual([])
  expect(NOVA_PROPERTIES.filter((name) => !all.includes(name))).toEqual([])
  expect(isMeantForNova('hw_disk_bus')).toBe(true)
})

describe.each(Object.entries(HEEDED))('hosts with the driver %s', (_, heeded) => {
  test.each(GUEST_PROPERTIES)('take an image with %s only where it has an effect', (name) => {
    const reason = `does not support the image property ${name}=unheard-of`
    const isHeeded = heeded.includes(name)

    expect(refusal(heeded, { [name]: 'unheard-of' })).toBe(isHeeded ? undefined : reason)
    for (const fixed of heeded.filter((each) => each.startsWith(`${name}=`)))
      expect(refusal(heeded, { [name]: fixed.slice(name.length + 1) })).toBeUndefined()
  })

  test.each([...informative, 'my_own_property', 'owner_specified.openstack.md5'])(
    'take an image with %s, by which no server differs',
    (name) => {
      expect(refusal(heeded, { [name]: 'anything' })).toBeUndefined()
    },
  )

  test('name only properties that are about guests', () => {
    const names = heeded.map((each) => each.split('=')[0]!)
    expect(names.filter((name) => !GUEST_PROPERTIES.includes(name))).toEqual([])
  })
})

test.each([
  ['hw_boot_menu', 'false'],
  ['hw_redirected_usb_ports', '0'],
  ['hw_watchdog_action', 'disabled'],
  ['hw_mem_page_size', 'any'],
  ['hw_cpu_policy', 'shared'],
  ['os_secure_boot', 'optional'],
  ['block_device_mapping', '[]'],
])('a host takes an image whose %s is %s, which asks for nothing', (name, value) => {
  expect(refusal([], { [name]: value })).toBeUndefined()
})

test.each([
  ['hw_pmu', 'false'],
  ['hw_time_hpet', 'no'],
  ['hw_serial_port_count', '0'],
  ['os_shutdown_timeout', '0'],
])('a host that cannot see to it refuses an image whose %s is %s', (name, value) => {
  expect(refusal([], { [name]: value })).toBe(
    `does not support the image property ${name}=${value}`,
  )
})

test('a property of one memory node is judged as that of any', () => {
  expect(refusal([], { 'hw_numa_mem.1': '512' })).toContain('hw_numa_mem.1=512')
})

test('libvirt hosts read exactly the properties that they name', () => {
  const read = new Set<string>()
  const properties = new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => {
        read.add(String(name))
        return undefined
      },
    },
  )
  const flavor = { extraSpecs: { 'hw:mem_page_size': 'any' }, vcpus: 1 }
  const subject = { flavor, imageProperties: properties } as unknown as DomainSubject
  guestOptions(subject)
  requestedPlacement(subject)
  rescueDevice(properties)

  const named = LIBVIRT.filter((name) => !name.includes('=') && !READ_ELSEWHERE.includes(name))
  expect([...read].filter((name) => GUEST_PROPERTIES.includes(name)).toSorted()).toEqual(named)
})

// `npx vitest run test/contract/image-properties.test.ts -u` rewrites the page.
test('docs/reference/image-properties.md shows them', async () => {
  const file = 'docs/reference/image-properties.md'
  const [before, , between, , after] = (await readFile(file, 'utf8')).split(
    /(?:<!-- properties about guests -->|<!-- properties without effect -->)/,
  )
  const written = [
    [before, `\n\n${guestTable()}\n`, between].join(GUEST_MARK),
    `\n\n${informativeTable()}\n`,
    after,
  ].join(INFORMATIVE_MARK)
  await expect(written).toMatchFileSnapshot(`../../${file}`)
})

function guestTable(): string {
  const effect = (heeded: readonly string[], name: string) => {
    if (heeded.includes(name)) return 'any value'
    const values = heeded.filter((each) => each.startsWith(`${name}=`))
    return values.map((each) => `\`${each.slice(name.length + 1)}\``).join(', ') || 'no'
  }
  const rows = GUEST_PROPERTIES.map((name) => {
    return [`\`${name}\``, ...[LIBVIRT, DOCKER, MACHINES].map((heeded) => effect(heeded, name))]
  })
  const withEffect = rows.filter((row) => row.slice(1).some((cell) => cell !== 'no'))
  const without = rows.filter((row) => !withEffect.includes(row)).map(([name]) => name)
  const head = ['Property', '`libvirt`', '`docker`', '`baremetal`, `ironic`']
  return `${table(head, withEffect)}\n\nThese have an effect on no host so far, and every real host refuses them: ${without.join(', ')}.`
}

function informativeTable(): string {
  const rows = Array.from(INFORMATIVE_PROPERTIES, ([reason, names]) => [
    names.map((name) => `\`${name}\``).join(', '),
    reason,
  ])
  return table(['Properties', 'Why'], rows)
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`)
  return lines.join('\n')
}
