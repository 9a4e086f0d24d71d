import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'vitest'
import { type ImageId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { startMetal } from '../../../test/env/metal.ts'
import type { ImageSpec, NicSpec } from '../../driver.ts'
import { qcow2Header } from '../../testing/qcow2-header.ts'
import { type NodeRecord, writeNodeRecord } from '../nodes/node-record.ts'

const LIMIT_MS = 90_000
const IMAGE = Buffer.alloc(4096, 'the image')
const signal = () => AbortSignal.timeout(LIMIT_MS)

describe.concurrent('a deploy', { timeout: LIMIT_MS }, () => {
  test('fails if the BMC does not answer for too long, and the machine is cleaned once it does', async ({
    expect,
  }) => {
    await using metal = await startMetal()
    const { machine, images } = metal
    const spec = metal.spec(images.add(IMAGE))
    machine.instead = (task) => {
      if (task !== 'write') return true
      machine.disk = IMAGE.subarray(0, 512)
      machine.silence(true)
      return false
    }

    await expect(metal.driver.spawn(spec, signal())).rejects.toMatchObject({
      kind: 'internal',
      message: 'The BMC does not answer.',
    })

    expect(await metal.driver.list(signal())).toEqual([])
    const { instance, failure } = await metal.untilNode('clean-failed')
    expect({ instance, failure }).toEqual({ instance: null, failure: 'The BMC does not answer.' })
    const taken = metal.driver.spawn(spec, signal())
    await expect(taken).rejects.toMatchObject({ kind: 'no-capacity' })

    machine.silence(false)
    // It would be tried again by itself after a while.
    await metal.driver.nodes!.inspect('machine', signal())
    expect(await metal.untilNode('available')).toMatchObject({ failure: null, isOn: false })
    expect(machine.disk.length).toBe(0)
    machine.instead = () => true
    await metal.driver.spawn(spec, signal())
    expect(machine.disk.equals(IMAGE)).toBe(true)
  })

  test('continues after the BMC has not answered for a while', async ({ expect }) => {
    await using metal = await startMetal({ bmcSeconds: 60 })
    const { machine, images } = metal
    const spec = metal.spec(images.add(IMAGE))
    machine.silence(true)

    const spawning = metal.driver.spawn(spec, signal())
    await metal.untilNode('deploying')
    machine.silence(false)
    await spawning

    expect(await metal.driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  })

  test.for([
    ['goes off', 'The machine went off before it had done its task.'],
    ['has a disk that fails', 'The machine could not do its task.'],
    ['says nothing more', 'The machine did not say that it was done.'],
    ['holds something else', 'The disk does not hold what was written to it.'],
  ] as const)('of a machine that %s fails, and the machine is cleaned', async (of, { expect }) => {
    const [what, message] = of
    await using metal = await startMetal({ taskMinutes: 8 / 60 })
    const { machine, images } = metal
    machine.instead = (task) => {
      if (task !== 'write') return true
      if (what === 'goes off') machine.isOn = false
      if (what === 'holds something else') machine.garbles = true
      if (what === 'has a disk that fails') return 'Input/output error'
      return what === 'holds something else'
    }
    const spec = metal.spec(images.add(IMAGE))

    await expect(metal.driver.spawn(spec, signal())).rejects.toMatchObject({
      kind: 'internal',
      message,
    })

    await metal.untilNode('available')
    expect(machine.disk.length).toBe(0)
    expect(await metal.driver.list(signal())).toEqual([])
  })

  test('that the BMC’s user may not do fails, and the machine gets no server until that user may', async ({
    expect,
  }) => {
    await using metal = await startMetal()
    const { machine, images } = metal
    const spec = metal.spec(images.add(IMAGE))
    machine.isReadOnly = true

    await expect(metal.driver.spawn(spec, signal())).rejects.toMatchObject({
      kind: 'forbidden',
      message: 'The BMC does not let its user do this: it needs more privilege.',
    })

    const { instance, failure } = await metal.untilNode('clean-failed')
    expect({ instance, failure }).toEqual({
      instance: null,
      failure: expect.stringContaining('more privilege'),
    })
    expect(machine.disk.length).toBe(0)
    machine.isReadOnly = false
    await metal.driver.nodes!.inspect('machine', signal())
    await metal.untilNode('available')
    await metal.driver.spawn(spec, signal())

    // A server that is deleted is gone then as well, and its machine is out of service with what it left.
    await metal.driver.stop(spec.id, 0, signal())
    machine.isReadOnly = true
    await metal.driver.destroy(spec.id, signal())
    expect(await metal.driver.list(signal())).toEqual([])
    expect(await metal.node()).toMatchObject({ state: 'clean-failed', instance: null })
  })

  test('of an image that does not exist takes no machine', async ({ expect }) => {
    await using metal = await startMetal()
    const { machine, images } = metal
    const spec = metal.spec({ ...images.add(IMAGE), id: newId<ImageId>() })

    await expect(metal.driver.spawn(spec, signal())).rejects.toMatchObject({ kind: 'not-found' })

    expect(machine.tasks).toEqual(['inspect', 'clean'])
    expect(await metal.node()).toMatchObject({ state: 'available', instance: null })
  })

  test('continues after a restart of its host, which stopped in the middle', async ({ expect }) => {
    await using metal = await startMetal()
    const { machine, images } = metal
    const spec = metal.spec(images.add(IMAGE))
    const stop = new AbortController()
    machine.instead = (task) => {
      if (task === 'write') stop.abort(new Error('the host stops'))
      return task !== 'write'
    }
    const cleanings = () => machine.tasks.filter((task) => task === 'clean').length

    await expect(metal.driver.spawn(spec, stop.signal)).rejects.toThrow('the host stops')
    await metal.driver[Symbol.asyncDispose]()
    await metal.reopen()

    expect(await metal.node()).toMatchObject({ state: 'deploying', instance: spec.id })
    expect(await metal.driver.list(signal())).toEqual([{ id: spec.id, powerState: 'shutdown' }])
    machine.instead = () => true
    await metal.driver.spawn(spec, signal())
    expect(machine.disk.equals(IMAGE)).toBe(true)
    expect(cleanings()).toBe(1)
  })

  test('that cannot go on gives the machine back, clean', async ({ expect }) => {
    await using metal = await startMetal()
    const { machine, images } = metal
    const spec = metal.spec(images.add(IMAGE))
    const stop = new AbortController()
    machine.instead = (task) => {
      if (task === 'write') stop.abort(new Error('the host stops'))
      return task !== 'write'
    }
    await expect(metal.driver.spawn(spec, stop.signal)).rejects.toThrow('the host stops')
    await metal.driver[Symbol.asyncDispose]()
    await metal.reopen()

    // The same server, whose image has been deleted meanwhile.
    const gone = { ...spec, image: { ...spec.image, sha256: 'a'.repeat(64), id: newId<ImageId>() } }
    await expect(metal.driver.spawn(gone, signal())).rejects.toMatchObject({ kind: 'not-found' })

    expect(await metal.untilNode('available')).toMatchObject({ instance: null })
  })

  test.for(['inspecting', 'cleaning'] as const)(
    'has no part in what a host was killed at: a node that was %s comes to its target',
    async (state, { expect }) => {
      await using metal = await startMetal()
      await metal.driver[Symbol.asyncDispose]()
      const path = join(metal.directory, 'nodes', 'machine.json')
      const record = JSON.parse(await readFile(path, 'utf8')) as NodeRecord
      await writeNodeRecord(path, { ...record, state })
      await metal.reopen()

      await metal.untilNode('available')

      const tasks = state === 'cleaning' ? ['clean'] : ['inspect', 'clean']
      expect(metal.machine.tasks.slice(2)).toEqual(tasks)
    },
  )

  test('of another image that fails leaves the server its node, to be rebuilt again', async ({
    expect,
  }) => {
    await using metal = await startMetal()
    const { machine, images } = metal
    const spec = metal.spec(images.add(IMAGE))
    await metal.driver.spawn(spec, signal())
    machine.instead = () => 'Input/output error'
    const rebuild = () =>
      metal.driver.rebuild!.rebuild(spec, { keepsEphemeral: false, runs: true }, signal())

    await expect(rebuild()).rejects.toMatchObject({ kind: 'internal' })

    expect(await metal.node()).toMatchObject({
      state: 'deploy-failed',
      failure: 'The machine could not do its task. (Input/output error)',
      instance: spec.id,
    })
    const starting = metal.driver.start(spec.id, signal())
    await expect(starting).rejects.toMatchObject({ kind: 'conflict' })
    machine.instead = () => true
    await rebuild()
    expect(await metal.driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
  })

  test('gives a guest its config drive, and refuses one without room before it takes a machine', async ({
    expect,
  }) => {
    await using metal = await startMetal()
    const { machine, images } = metal
    const bootable = Buffer.alloc(4096)
    bootable.writeUInt16LE(0xaa55, 510)
    const withDrive = {
      ...metal.spec(images.add(bootable)),
      configDrive: { file: Buffer.from('told') },
    }
    const plain = { ...withDrive, image: images.add(IMAGE) }
    const wide = { ...withDrive, nics: [nic(1), nic(2)] }
    const large = {
      ...withDrive,
      image: images.add(qcow2Header({ virtualSize: 2n ** 40n }), QCOW2),
    }

    for (const refused of [plain, wide, large])
      await expect(metal.driver.spawn(refused, signal())).rejects.toMatchObject({ kind: 'invalid' })
    expect(machine.tasks).toEqual(['inspect', 'clean'])
    await metal.driver.spawn(withDrive, signal())

    const [[first, sector] = [], [last, drive] = []] = [...machine.patches]
    expect(first).toBe(0)
    expect(sector!.readUInt32LE(446 + 8) * 512).toBe(last)
    expect(drive!.toString('latin1')).toContain('config-2')
    expect(drive!.toString('latin1')).toContain('told')
  })

  test('of a CD or a kernel has the machine boot it from the network, at every start, until it is deleted', async ({
    expect,
  }) => {
    await using metal = await startMetal()
    const { machine, images } = metal
    const cd = metal.spec(images.add(IMAGE, { diskFormat: 'iso' }))
    const booted = (what: RegExp) => waitFor('a boot', () => what.test(machine.script), LIMIT_MS)

    const withDrive = { ...cd, configDrive: { file: Buffer.from('told') } }
    await expect(metal.driver.spawn(withDrive, signal())).rejects.toMatchObject({
      kind: 'unsupported',
    })
    await metal.driver.spawn(cd, signal())
    await booted(/sanboot .*\/live\/\w+\/iso/)
    await metal.driver[Symbol.asyncDispose]()
    await metal.reopen()
    machine.script = ''
    await metal.driver.reboot(cd.id, 'hard', 0, signal())
    await booted(/sanboot/)
    expect(machine.tasks).toEqual(['inspect', 'clean'])

    const [kernel, ramdisk] = [
      images.add(Buffer.from('kernel')),
      images.add(Buffer.from('ramdisk')),
    ]
    const line = (text: string) => ({ os_command_line: text })
    const image = { ...images.add(IMAGE, { properties: line('quiet') }), kernel, ramdisk }
    const rebuild = (to: ImageSpec) =>
      metal.driver.rebuild!.rebuild(
        { ...cd, image: to },
        { keepsEphemeral: false, runs: true },
        signal(),
      )
    const evil = rebuild({ ...image, properties: line('quiet\nshell') })
    await expect(evil).rejects.toMatchObject({ kind: 'invalid' })
    await rebuild(image)
    await booted(/initrd=initrd quiet\n/)

    await metal.driver.destroy(cd.id, signal())
    expect(await readdir(join(metal.directory, 'boots'))).toEqual([])
    expect(machine.tasks.at(-1)).toBe('clean')
  })
})

const QCOW2 = { diskFormat: 'qcow2' }

function nic(nth: number): NicSpec {
  const macAddress = `fa:16:3e:00:00:0${nth}`
  return { portId: newId(), networkId: newId(), macAddress, mtu: 1500, fixedIps: [] }
}
