import { execFile } from 'node:child_process'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectRoot } from '#deploy/paths.ts'
import { renderDocument } from '#openapi/generator/render-types.ts'
import { MAX } from '#openapi/microversions.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'

// What a user does who has nothing but the served document: generate types, compile a program against them, run it.

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, 'generated', 'boot.mts')
const STRICT =
  '--ignoreConfig --noEmit --strict --noUncheckedIndexedAccess --skipLibCheck --target es2024'
const MODULES = '--module nodenext --allowImportingTsExtensions --types node'
const STEP_LIMIT_MS = 60_000

let cloud: Cloud
let directory: string

beforeAll(async () => {
  // Inside the project, so that the program finds its packages.
  await mkdir(join(projectRoot, '.weir'), { recursive: true })
  directory = await mkdtemp(join(projectRoot, '.weir', 'generated-'))
  cloud = await startCloud({ gateways: 1, processesPerCell: 1 })
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

test.each(['2.37', MAX])(
  'a client generated from the document of %s compiles and runs a server',
  async (version) => {
    const home = join(directory, version)
    await mkdir(home)
    const [endpoint = ''] = cloud.endpoints
    const served = await fetch(`${endpoint}/openapi/compute.json?microversion=${version}`)
    expect(served.status).toBe(200)
    await writeFile(join(home, 'schema.ts'), await renderDocument((await served.json()) as object))
    await copyFile(PROGRAM, join(home, 'boot.mts'))
    const options = { cwd: home, timeout: STEP_LIMIT_MS }

    const tsc = join(projectRoot, 'node_modules/.bin/tsc')
    const compiled = await run(
      tsc,
      [...STRICT.split(' '), ...MODULES.split(' '), 'boot.mts'],
      options,
    ).catch((error: { stdout?: string }) => error)
    expect(compiled.stdout).toBe('')
    const { image, tiny, network } = cloud.catalog
    const token = await cloud.as('demo').token()
    const { stdout } = await run(
      process.execPath,
      ['boot.mts', endpoint, token, version, image, tiny, network],
      options,
    )

    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/)
  },
)
