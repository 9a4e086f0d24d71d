import { normalPath } from '#gateway/http/normal-path.ts'
import { serviceAt } from '#gateway/http/services.ts'
import { type Contract, contractOf, UNVERSIONED } from '#openapi/contract.ts'
import { type DocumentName, presentDocuments } from '#openapi/load-document.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { Method, Operation } from '#openapi/projection/operation.ts'

/** A request and its answer, as far as a document describes them. */
export interface Exchanged {
  readonly method: Method
  /** From the root of the port, without a query. */
  readonly path: string
  readonly version: Microversion
  readonly request: unknown
  readonly status: number
  readonly answer: unknown
}

interface Route {
  readonly method: Method
  readonly path: RegExp
  /** As the document writes it. */
  readonly template: string
  readonly parameters: number
}

interface Served {
  readonly contract: Contract
  readonly routes: readonly Route[]
}

const served = new Map<DocumentName, Served>()

/**
 * Throws when an answer does not match the document of its service at the requested microversion. A 5xx other than 501
 * and 503 is always wrong.
 */
export function checkAnswer(exchanged: Exchanged): void {
  const { method, path, status, answer, version } = exchanged
  const problems = status >= 400 ? faultProblems(exchanged) : successProblems(exchanged)
  if (problems.length === 0) return
  const shown = JSON.stringify(answer)?.slice(0, 600)
  throw new Error(
    `${method} ${path} at ${version} answered ${status} ${shown}: ${problems.join('; ')}`,
  )
}

function successProblems(exchanged: Exchanged): readonly string[] {
  const { method, status, answer } = exchanged
  // HEAD is answered as GET without its content.
  const isHead = method === 'HEAD'
  const operation = operationOf(isHead ? { ...exchanged, method: 'GET' } : exchanged)
  if (operation === undefined) return ['no document has it']
  const problems = operation.validateResponse(versionOf(exchanged), status, answer)
  return isHead ? [] : problems
}

/** The oldest version of a service, which it uses for a version that it does not have, and by default. */
function versionOf({ path, version }: Exchanged): Microversion {
  const { versions } = documentOf(serviceAt(path).name).contract
  return versions.includes(version) ? version : (versions[0] ?? UNVERSIONED)
}

/** Every service has one envelope for all failures, with a message that is not empty. */
function faultProblems({ method, path, status, answer }: Exchanged): readonly string[] {
  if (status >= 500 && status !== 501 && status !== 503) return ['the service failed']
  if (method === 'HEAD') return []
  const { faults } = serviceAt(path)
  if (faults === 'placement') return placementProblems(status, answer)
  if (faults === 'problem') return plainProblems(status, answer)
  if (isRouters(answer)) return []
  const [inner] = Object.values((answer ?? {}) as Readonly<Record<string, unknown>>)
  const { code, message } = (inner ?? {}) as { code?: unknown; message?: unknown }
  const problems: string[] = []
  if (typeof message !== 'string' || message.length === 0) problems.push('no message')
  if (faults !== 'neutron' && code !== status) problems.push('its code is not its status')
  return problems
}

/** The answer of Nova's router to a path without an operation: without an envelope. */
function isRouters(answer: unknown): boolean {
  const { message, code } = (answer ?? {}) as { message?: unknown; code?: unknown }
  return typeof message === 'string' && message.length > 0 && code === '404 Not Found'
}

function plainProblems(status: number, answer: unknown): readonly string[] {
  const { detail, status: bodyStatus } = (answer ?? {}) as { detail?: unknown; status?: unknown }
  const problems = typeof detail === 'string' && detail.length > 0 ? [] : ['no detail']
  return bodyStatus === status ? problems : [...problems, 'its status is not its status']
}

function placementProblems(status: number, answer: unknown): readonly string[] {
  const { errors = [] } = (answer ?? {}) as {
    errors?: readonly Readonly<Record<string, unknown>>[]
  }
  const [error] = errors
  const isWhole = typeof error?.['detail'] === 'string' && error['detail'].length > 0
  const problems = isWhole ? [] : ['no detail']
  return error?.['status'] === status ? problems : [...problems, 'its code is not its status']
}

function operationOf({ method, path, version, request }: Exchanged): Operation | undefined {
  const { name, prefix } = serviceAt(path)
  const { contract, routes } = documentOf(name)
  const inner = normalPath(new Request(`http://host${path}`)).slice(prefix.length)
  const route = routes.find((each) => each.method === method && each.path.test(inner || '/'))
  if (route === undefined) return undefined
  const single = contract.operations.find(
    (each) => each.method === method && each.path === route.template && each.action === undefined,
  )
  return single ?? contract.action(route.template, version, request)
}

function documentOf(name: DocumentName): Served {
  const known = served.get(name)
  if (known !== undefined) return known
  if (!presentDocuments().includes(name)) throw new Error(`There is no document ${name}`)
  const contract = contractOf(name)
  const routes = contract.operations
    .map(({ method, path }) => routeOf(method, path))
    // As in a router, literal segments come before parameters.
    .toSorted((a, b) => a.parameters - b.parameters)
  const loaded = { contract, routes }
  served.set(name, loaded)
  return loaded
}

function routeOf(method: Method, template: string): Route {
  const pattern = template
    .split(/\{\w+\}/)
    .map((text) => text.replaceAll('.', '\\.'))
    .join('[^/]+')
  const parameters = template.split('{').length - 1
  return { method, template, parameters, path: new RegExp(`^${pattern}$`) }
}
