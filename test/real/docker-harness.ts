import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { type RunningDockerEngine, startDockerEngine } from '#deploy/docker-engine/docker-engine.ts'
import { guestFiles } from '#deploy/guest/guest-files.ts'
import { createDockerDriver, type DockerSettings } from '#drivers/docker/driver.ts'
import { engineEndpoint } from '#drivers/docker/engine/endpoint.ts'
import { Engine } from '#drivers/docker/engine/engine.ts'
import { containerName } from '#drivers/docker/names.ts'
import type { Driver, ImageSpec, Owner } from '#drivers/driver.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import type { DriverHarness } from '../contract/drivers.contract.ts'
import { archiveOf, savedImage } from './docker-images.ts'

const CALL_MS = 10_000
const DOCKER = { diskFormat: 'docker' }

/** Images that a host must refuse, by their defect. */
export const REFUSED_IMAGES = [
  'is not what its checksum says',
  'is no tar archive',
  'is of a format no container is made of',
  'holds two images',
  'holds no image',
  'names an image of the engine that was not offered',
] as const

export interface DockerHarness extends DriverHarness {
  readonly running: RunningDockerEngine
  readonly images: TestImages
  readonly owner: Owner
  /** The engine, for looking at it from outside the driver. */
  readonly engine: Engine
  openAs(owner: Owner, settings?: Partial<DockerSettings>): Promise<Driver>
}

/** A private Docker engine, and drivers over it. */
export async function startDockerHarness(options: readonly string[] = []): Promise<DockerHarness> {
  const directory = await mkdtemp(join(tmpdir(), 'weir-dk-'))
  const running = await startDockerEngine(join(directory, 'engine'), options)
  const engine = new Engine(engineEndpoint(running))
  const images = new TestImages()
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const stateOf = ({ hostId }: Owner) => join(directory, `state-${hostId}`)
  const endless = images.addEndless()
  const openAs = (as: Owner, settings: Partial<DockerSettings> = {}) =>
    createDockerDriver(
      { owner: as, stateDirectory: stateOf(as), images: images },
      { endpoint: running.endpoint, localImages: [], vcpus: 2, memoryMb: 1024, ...settings },
    )
  return {
    running,
    images,
    owner,
    engine,
    openAs,
    open: () => openAs(owner),
    openOther: () => openAs({ cellId: newId<CellId>(), hostId: newId<HostId>() }),
    cutOff: (id) => kill(engine, containerName(id)),
    image: images.add(await guestFiles(), DOCKER),
    consoles: ['serial'],
    hanging: (spec) => ({ ...spec, image: { ...endless, ...DOCKER } }),
    refused: await refusedImages(images),
    shelve: (content, diskFormat) => images.add(content, { diskFormat }),
    leftovers: async (id) => [
      ...(await namesOf(engine, id)),
      ...(await readdir(join(stateOf(owner), 'images'))).filter((name) => name.includes('part')),
    ],
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]()
      await running.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function kill(engine: Engine, container: string): Promise<void> {
  const signal = AbortSignal.timeout(CALL_MS)
  await engine.call('POST', `/containers/${container}/kill`, { signal })
}

async function namesOf(engine: Engine, id: string): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(CALL_MS)
  const get = <T>(path: string) => engine.call<T>('GET', path, { query: { all: '1' }, signal })
  const containers = await get<{ Names: string[] }[]>('/containers/json')
  const { Volumes } = await get<{ Volumes: { Name: string }[] | null }>('/volumes')
  const networks = await get<{ Name: string }[]>('/networks')
  return [...containers.flatMap(({ Names }) => Names), ...(Volumes ?? []).map(({ Name }) => Name)]
    .filter((name) => name.includes(id))
    .concat(networks.map(({ Name }) => Name).filter((name) => name.startsWith('weir-')))
}

async function refusedImages(
  images: TestImages,
): Promise<Record<(typeof REFUSED_IMAGES)[number], ImageSpec>> {
  const files = await guestFiles()
  const image = await savedImage('one:1')
  const properties = { docker_image: 'someone:else' }
  return {
    'is not what its checksum says': images.add(files, { ...DOCKER, sha256: 'a'.repeat(64) }),
    'is no tar archive': images.add(Buffer.alloc(4096, 7), DOCKER),
    'is of a format no container is made of': images.add(files, { diskFormat: 'qcow2' }),
    'holds two images': images.add(await archiveOf('[{}, {}]'), DOCKER),
    'holds no image': images.add(await archiveOf('nothing'), DOCKER),
    'names an image of the engine that was not offered': images.add(image, {
      ...DOCKER,
      properties,
    }),
  }
}
