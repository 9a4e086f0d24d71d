import { describe, expect, test } from 'vitest'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { ImageShelf } from '../../testing/image-shelf.ts'
import { instanceSpec } from '../../testing/instance-spec.ts'
import { instanceFiles } from '../instance-files.ts'
import { attributeAt, elementsAt, parseXml, textAt } from '../xml/parse.ts'
import { domainName, instanceOfDomainName } from './domain-name.ts'
import { domainXml } from './domain-xml.ts'

const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const image = new ImageShelf().add(Buffer.alloc(1))
const flavor = { ...instanceSpec(image).flavor, ephemeralGb: 2, swapMb: 8 }

describe('domainXml()', () => {
  const plan = (overrides = {}, virtType: 'qemu' | 'kvm' = 'qemu') => {
    const spec = instanceSpec(image, overrides)
    const files = instanceFiles('/state', spec.id)
    return { spec, tree: parseXml(domainXml({ spec, owner, files, virtType })) }
  }

  test('what a user chose is text in the metadata and nothing else', () => {
    const displayName = '</name><name>evil</name>../../etc'
    const { spec, tree } = plan({ displayName, hostname: 'evil-host' })

    expect(elementsAt(tree, 'domain', 'name')).toHaveLength(1)
    expect(textAt(tree, 'domain', 'name')).toBe(`weir-${spec.id}`)
    const rest = { ...elementsAt(tree, 'domain')[0], metadata: [] }
    expect(JSON.stringify(rest)).not.toContain('evil')
  })

  test('every path lies in the instance folder', () => {
    const { spec, tree } = plan({ configDrive: {}, flavor })
    const devices = elementsAt(tree, 'domain', 'devices')[0]!
    const disks = elementsAt(devices, 'disk', 'source').map((source) => attributeAt(source, 'file'))
    const logs = ['serial', 'console'].map((kind) => attributeAt(devices, 'file', kind, 'log'))

    expect(disks).toHaveLength(4)
    for (const path of [...disks, ...logs])
      expect(path.startsWith(`/state/instances/${spec.id}/`)).toBe(true)
  })

  test('its screen is on a socket in the state directory, and on none that could not be made', () => {
    const { tree } = plan()
    const devices = elementsAt(tree, 'domain', 'devices')[0]!
    expect(attributeAt(devices, 'type', 'graphics', 'listen')).toBe('socket')
    expect(attributeAt(devices, 'socket', 'graphics', 'listen')).toMatch(
      /^\/state\/vnc\/[\w-]{22}$/,
    )

    const spec = instanceSpec(image)
    const files = instanceFiles(`/${'long'.repeat(30)}`, spec.id)
    const far = parseXml(domainXml({ spec, owner, files, virtType: 'qemu' }))
    expect(elementsAt(far, 'domain', 'devices', 'graphics')).toEqual([])
  })

  test('it has only what the server asked for', () => {
    const { tree } = plan()
    const devices = elementsAt(tree, 'domain', 'devices')[0]!

    expect(elementsAt(devices, 'disk')).toHaveLength(1)
    expect(elementsAt(devices, 'interface')).toHaveLength(0)
    expect(textAt(tree, 'domain', 'memory')).toBe('128')
    expect(textAt(tree, 'domain', 'vcpu')).toBe('1')
    expect(attributeAt(tree, 'type', 'domain')).toBe('qemu')
  })

  test('only a KVM guest is given the host CPU', () => {
    expect(elementsAt(plan({}, 'qemu').tree, 'domain', 'cpu')).toHaveLength(0)
    expect(attributeAt(plan({}, 'kvm').tree, 'mode', 'domain', 'cpu')).toBe('host-model')
  })
})

describe('instanceOfDomainName()', () => {
  test('it is the inverse of domainName(), and nothing else is a name of ours', () => {
    const { id } = instanceSpec(image)

    expect(instanceOfDomainName(domainName(id))).toBe(id)
    for (const name of ['foreign', id, `weir-${id}x`, 'weir-', `WEIR-${id}`])
      expect(instanceOfDomainName(name)).toBeUndefined()
  })
})
