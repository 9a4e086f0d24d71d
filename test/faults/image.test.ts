import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readRelease } from '#common/release.ts'
import { buildImage } from '#deploy/image/build-image.ts'
import { runTool } from '#deploy/packages/run-tool.ts'
import { compiledDirectory } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { gatewayProgram } from '../env/cloud/gateway-program.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { isFullRun } from '../env/full-run.ts'

// Goal: one image, built without a daemon, runs every program, as any user and on a read-only root.

const LIMIT_MS = 240_000
const USER = 10_001

describe.skipIf(!isFullRun)('the image', () => {
  const directory = mkdtempSync(join(tmpdir(), 'weir-image-test-'))
  const path = (name: string) => join(directory, name)
  const debs = join(compiledDirectory, 'image-libraries')
  let digest: string
  let cloud: Cloud

  beforeAll(async () => {
    digest = await buildImage(path('first'), debs)
    const image = `${path('first')}:${readRelease()}`
    await runTool('umoci', ['unpack', '--image', image, path('bundle')], { limitMs: LIMIT_MS })
    cloud = await startCloud({ gateways: 1, cells: 1, hostsPerCell: 1 })
  }, LIMIT_MS)

  afterAll(async () => {
    await cloud?.[Symbol.asyncDispose]()
    rmSync(directory, { recursive: true, force: true })
  })

  /** The container's definition, of a program on the machine's network; its settings are mounted at `/settings`. */
  function writeBundle(program: string, settings: Readonly<Record<string, string>>): void {
    const folder = path(`settings-${program}`)
    mkdirSync(folder)
    const env = Object.entries(settings).map(([setting, value]) => {
      if (!setting.endsWith('_FILE')) return `${setting}=${value}`
      const copy = join(folder, basename(value))
      copyFileSync(value, copy)
      chownSync(copy, USER, USER)
      return `${setting}=/settings/${basename(value)}`
    })
    const file = path('bundle/config.json')
    const config = JSON.parse(readFileSync(file, 'utf8')) as RuntimeConfig
    const { process: runs, linux, mounts } = config
    const bind = { destination: '/settings', type: 'bind', source: folder, options: ['bind'] }
    const state = {
      destination: '/var/lib/weir',
      type: 'tmpfs',
      source: 'tmpfs',
      options: ['mode=1777'],
    }
    const changed = {
      ...config,
      root: { path: path('bundle/rootfs'), readonly: true },
      process: {
        ...runs,
        terminal: false,
        args: [...runs.args, program],
        env: [...runs.env, ...env],
      },
      mounts: [
        ...mounts.filter(({ destination }) => destination !== state.destination),
        bind,
        state,
      ],
      linux: {
        ...linux,
        namespaces: linux.namespaces.filter(({ type }) => type !== 'network'),
        resources: undefined,
      },
    }
    mkdirSync(path(program))
    writeFileSync(path(`${program}/config.json`), JSON.stringify(changed))
  }

  test(
    'has the same digest whenever it is built',
    async () => {
      expect(await buildImage(path('second'), debs)).toBe(digest)
    },
    LIMIT_MS,
  )

  test('names its programs to a user who names none of them', async () => {
    writeBundle('nothing', {})
    const { code, stderr } = await runOf('nothing')

    expect(stderr).toContain(
      'gateway, cell, compute, bootstrap-gateway, migrate-gateway, migrate-cell',
    )
    expect(code).toBe(2)
  })

  test(
    'runs a gateway',
    async () => {
      const port = await freePort()
      const gateway = await gatewayProgram(cloud.foundation, {}, { nth: 9, port })
      writeBundle('gateway', {
        ...gateway.settings,
        GATEWAY_IMAGE_DIRECTORY: '/var/lib/weir/images',
        GATEWAY_LOG_LEVEL: 'info',
      })
      const run = container('gateway')
      try {
        const isReady = async () =>
          (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status
        await expect.poll(isReady, { timeout: LIMIT_MS }).toBe(200)
      } finally {
        run.kill('SIGTERM')
      }
      const [code] = (await once(run, 'exit')) as [number]
      expect(code).toBe(0)
    },
    LIMIT_MS,
  )

  test('migrates the databases of its programs', async () => {
    const gateway = await gatewayProgram(cloud.foundation, {}, { nth: 10, port: 0 })
    writeBundle('migrate-gateway', { ...gateway.settings, GATEWAY_IMAGE_DIRECTORY: '/tmp/images' })

    expect(await runOf('migrate-gateway')).toMatchObject({
      code: 0,
      stdout: 'The global database has every table of this release.\n',
    })
  })

  function container(program: string) {
    const id = `weir-test-${process.pid}-${program}`
    const args = ['--root', path('runc'), 'run', '--bundle', path(program), id]
    return spawn('runc', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  }

  async function runOf(program: string) {
    const child = container(program)
    const exit = once(child, 'exit')
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = (await exit) as [number | null]
    return { code, stdout, stderr }
  }

  test('has no program but its own', () => {
    expect(existsSync(path('bundle/rootfs/bin/sh'))).toBe(false)
    expect(existsSync(path('bundle/rootfs/usr/bin/sh'))).toBe(false)
  })
})

/** What the test changes of a runtime's configuration. */
interface RuntimeConfig {
  readonly process: { readonly args: readonly string[]; readonly env: readonly string[] }
  readonly mounts: readonly { readonly destination: string }[]
  readonly linux: { readonly namespaces: readonly { readonly type: string }[] }
}
