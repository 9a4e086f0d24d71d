import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type InstanceId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { programPath } from '#deploy/process/find-program.ts'
import type { Driver, InstanceReport, NicSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { driversContract } from '../contract/drivers.contract.ts'
import { isFullRun } from '../env/full-run.ts'
import { type IronicHarness, REFUSED_BY_IRONIC, startIronicHarness } from './ironic-harness.ts'
import { bootableCd } from './machine/bootable-cd.ts'
import { type SimulatedMachine, startMachine } from './machine/simulated-machine.ts'

const nic = (nth: number): NicSpec => ({
  portId: newId(),
  networkId: newId(),
  macAddress: `fa:16:3e:00:00:0${nth}`,
  mtu: 1500,
  fixedIps: [],
})

const why = !isFullRun ? 'without --all' : programPath('ironic') ? undefined : 'no ironic installed'
const OPERATION_MS = 120_000

describe.skipIf(why !== undefined)(`ironic${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  driversContract('ironic', startIronicHarness, REFUSED_BY_IRONIC)

  describe('with a node behind a real BMC', () => {
    let harness: IronicHarness
    let machine: SimulatedMachine
    let driver: Driver
    const signal = () => AbortSignal.timeout(OPERATION_MS)

    beforeAll(async () => {
      ;[harness, machine] = await Promise.all([startIronicHarness(), startMachine({ diskMb: 1 })])
      driver = await harness.open()
    }, OPERATION_MS)
    afterAll(async () => {
      await driver?.[Symbol.asyncDispose]()
      await machine?.[Symbol.asyncDispose]()
      await harness?.[Symbol.asyncDispose]()
    })

    test('switches the machine, and is asked again while ironic has locked it', async () => {
      const uuid = await harness.enrol(machine)
      const spec = instanceSpec(harness.image)
      const { id } = spec
      const extraSpecs = { 'resources:CUSTOM_IPMI': '1' }
      const configDrive = {
        'openstack/latest/meta_data.json': Buffer.from('{"hostname":"told"}'),
        'openstack/latest/user_data': Buffer.from('#!/bin/sh'),
      }
      await driver.spawn({ ...spec, configDrive, flavor: { ...spec.flavor, extraSpecs } }, signal())
      expect(await machine.ipmitool('power', 'status')).toContain('is on')
      const node = (await harness.nodes()).find((each) => each.uuid === uuid)!
      expect(node.instance_info).toMatchObject({ image_os_hash_value: harness.image.sha256 })
      expect(node.instance_info['configdrive']).toBeDefined()

      // Both find it locked in turn.
      await Promise.all([driver.stop(id, 0, signal()), driver.list(signal())])
      expect(await machine.ipmitool('power', 'status')).toContain('is off')
      await driver.reboot(id, 'hard', 0, signal())
      expect(await machine.ipmitool('power', 'status')).toContain('is on')

      await driver.destroy(id, signal())
      expect(await harness.leftovers(id)).toEqual([])
    }, 300_000)

    test('switches a machine of hardware type ipmi, and gives it back', async () => {
      const id = newId<InstanceId>()
      const uuid = await harness.adopt(machine, id)
      const status = () => machine.ipmitool('power', 'status')

      await driver.start(id, signal())
      expect(await status()).toContain('is on')
      expect(await driver.list(signal())).toEqual([{ id, powerState: 'running' }])
      await driver.reboot(id, 'soft', 1_000, signal())
      expect(await status()).toContain('is on')
      await driver.stop(id, 0, signal())
      expect(await status()).toContain('is off')

      await driver.destroy(id, signal())
      expect(await harness.leftovers(id)).toEqual([])
      const node = (await harness.nodes()).find((each) => each.uuid === uuid)!
      expect(node).toMatchObject({ provision_state: 'available', driver: 'ipmi' })
    }, 300_000)

    test('an ironic that ends in the midst of a deploy is asked again once it is back', async () => {
      const plain = instanceSpec(harness.image)
      const spec = { ...plain, flavor: { ...plain.flavor, extraSpecs: { ...harness.extraSpecs } } }
      const spawning = driver.spawn(spec, signal())
      const broken = expect(spawning).rejects.toMatchObject({ kind: 'unavailable' })
      const isTaken = async () =>
        (await harness.nodes()).some((each) => each.provision_state === 'deploying')
      await waitFor('the deploy to begin', isTaken, OPERATION_MS)
      await harness.kill()
      await broken
      await harness.start()

      await driver.spawn(spec, signal())
      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      await driver.destroy(spec.id, signal())
      expect(await harness.leftovers(spec.id)).toEqual([])
    }, 300_000)

    test('the ports of a server are NICs of its node', async () => {
      const nics = [1, 2].map((nth) => nic(nth))
      const ports = nics.map(({ portId }) => portId)
      const plain = instanceSpec(harness.image, { nics })
      const flavor = { ...plain.flavor, extraSpecs: { ...harness.extraSpecs } }
      const links = ports.map((port) => ({ id: port, vif_id: port }))
      const data = JSON.stringify({ links, networks: [], services: [] })
      const configDrive = { 'openstack/latest/network_data.json': Buffer.from(data) }
      const spec = { ...plain, flavor, configDrive }
      await driver.spawn(spec, signal())

      const given = await driver.machineNics!.macAddresses(spec.id, nics, signal())
      const macs = ports.map((port) => given.get(port)!)
      expect(macs.map((mac) => mac.slice(-2))).toEqual(['01', '02'])
      const [node] = (await harness.nodes()).filter((each) => each.instance_uuid === spec.id)
      expect(node).toMatchObject({ provision_state: 'active' })
      await driver.destroy(spec.id, signal())

      const wide = { ...spec, id: newId<InstanceId>(), nics: [...nics, nic(3)] }
      await expect(driver.spawn(wide, signal())).rejects.toMatchObject({
        kind: 'invalid',
        message: 'The server has 3 ports, and its machine has 2 NICs.',
      })
      for (const { id } of [spec, wide]) expect(await harness.leftovers(id)).toEqual([])
    }, 300_000)

    test('a machine of hardware type ipmi is deployed over the network, and boots its image', async () => {
      const macAddress = '52:54:00:12:34:0a'
      const nicArgument = `user,model=virtio-net-pci,mac=${macAddress},bootfile=${harness.bootUrl}`
      await using booting = await startMachine({ diskMb: 1, qemu: ['-nic', nicArgument] })
      await harness.offer(booting, macAddress, 'ramdisk')
      const image = harness.shelve(await bootableCd(), 'iso')
      const port = nic(1)
      const plain = instanceSpec(image, { nics: [port] })
      const extraSpecs = { 'resources:CUSTOM_RAMDISK': '1' }
      const spec = { ...plain, flavor: { ...plain.flavor, extraSpecs } }
      expect((await driver.inventory(signal())).imageFormats).toContain('iso')
      const onDisk = { ...spec, id: newId<InstanceId>(), image: harness.image }
      await expect(driver.spawn(onDisk, signal())).rejects.toMatchObject({ kind: 'invalid' })

      await driver.spawn(spec, signal())
      expect(await booting.ipmitool('power', 'status')).toContain('is on')
      await waitFor(
        'the machine to greet',
        async () => /READY/.test(await booting.consoleLog()),
        OPERATION_MS,
      )
      const nics = await driver.machineNics!.macAddresses(spec.id, [port], signal())
      expect([...nics.values()]).toEqual([macAddress])

      await driver.destroy(spec.id, signal())
      expect(await booting.ipmitool('power', 'status')).toContain('is off')
      for (const { id } of [spec, onDisk]) expect(await harness.leftovers(id)).toEqual([])
    }, 400_000)

    test('a machine whose ramdisk never calls back is given up, and given back before that', async () => {
      await using mute = await startMachine({ diskMb: 1 })
      const uuid = await harness.offer(mute, '52:54:00:12:34:0b', 'direct')
      const stateOf = async () =>
        (await harness.nodes()).find((each) => each.uuid === uuid)!.provision_state
      const newSpec = () => {
        const plain = instanceSpec(harness.image)
        const extraSpecs = { 'resources:CUSTOM_DIRECT': '1' }
        return { ...plain, flavor: { ...plain.flavor, extraSpecs } }
      }
      const [lasting, ended] = [newSpec(), newSpec()]

      await expect(driver.spawn(lasting, signal())).rejects.toThrow(
        /^Ironic could not deploy the machine: .*timeout/i,
      )
      expect(await harness.leftovers(lasting.id)).toEqual([])

      const spawning = driver.spawn(ended, signal())
      const over = expect(spawning).rejects.toThrow()
      const waits = async () => (await stateOf()) === 'wait call-back'
      await waitFor('ironic to wait for the ramdisk', waits, OPERATION_MS)
      expect(await mute.ipmitool('power', 'status')).toContain('is on')
      await driver.destroy(ended.id, signal())
      await over
      expect(await stateOf()).toBe('available')
      expect(await harness.leftovers(ended.id)).toEqual([])
      expect(await mute.ipmitool('power', 'status')).toContain('is off')
    }, 400_000)

    test('work continues after an ironic that did not answer is back', async () => {
      const spec = instanceSpec(harness.image)
      const extraSpecs = { ...harness.extraSpecs }
      const wanted = { ...spec, flavor: { ...spec.flavor, extraSpecs } }
      await driver.spawn(wanted, signal())

      await harness.kill()
      const silent = { kind: 'unavailable' }
      await expect(driver.inventory(signal())).rejects.toMatchObject(silent)
      // A host that starts meanwhile says so, and goes on by itself.
      await driver[Symbol.asyncDispose]()
      driver = await harness.open()
      await expect(driver.inventory(signal())).rejects.toMatchObject(silent)
      await expect(driver.stop(spec.id, 0, signal())).rejects.toMatchObject(silent)
      await expect(driver.destroy(spec.id, signal())).rejects.toMatchObject(silent)
      await harness.start()

      expect(await driver.list(signal())).toEqual([{ id: spec.id, powerState: 'running' }])
      const seen: InstanceReport[] = []
      await using _watching = driver.watch((report) => seen.push(report))
      const [node] = (await harness.nodes()).filter((each) => each.instance_uuid === spec.id)
      await harness.power(node!.uuid, 'power off')
      const off = { id: spec.id, powerState: 'shutdown' }
      await expect.poll(() => seen.at(-1)).toEqual(off)

      await driver.destroy(spec.id, signal())
      expect(await driver.list(signal())).toEqual([])
      expect(await harness.leftovers(spec.id)).toEqual([])
    }, 300_000)
  })
})
