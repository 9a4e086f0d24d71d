import { Failure } from '#common/errors.ts'
import { type DocumentName, loadDocument } from './load-document.ts'
import { type Microversion, supportedMicroversions } from './microversions.ts'
import { PLACEMENT_HISTORY } from './placement-microversions.ts'
import { isNode, type Node } from './projection/annotations.ts'
import { breakpointsOf, rangeIndexOf } from './projection/breakpoints.ts'
import { createCompiler } from './projection/compiler.ts'
import { projectDocument } from './projection/document.ts'
import { inliner } from './projection/inline.ts'
import {
  createOperation,
  type Method,
  type Operation,
  type OperationSource,
} from './projection/operation.ts'
import { VOLUME_HISTORY } from './volume-microversions.ts'

/** The one version of an API without microversions. */
export const UNVERSIONED: Microversion = '1.0'

/** An API as its document describes it, for the code that serves, checks or publishes it. */
export interface Contract {
  readonly name: DocumentName
  /** The microversions served, oldest first; only UNVERSIONED for an API that has none. */
  readonly versions: readonly Microversion[]
  /** Every operation, each server action included as one of its own. */
  readonly operations: readonly Operation[]
  /** Throws a plain Error when the document has no such operation. */
  operation(id: string): Operation
  /**
   * The action that a body names on an action path. Throws `invalid` when the body names none, an unknown one or
   * several, and `not-found` when it is not an object, or the microversion lacks the action, as Nova does.
   */
  action(path: string, version: Microversion, body: unknown): Operation
  /** The plain OpenAPI 3.1 document of one microversion, as an object to be written as JSON. */
  document(version: Microversion): Node
  /** Documents of microversions with the same number differ in nothing but `info.version`. */
  documentStretch(version: Microversion): number
  /** How many validators and serializers were compiled so far. */
  readonly compiled: number
}

const loaded = new Map<DocumentName, Contract>()

/**
 * The contract of a document, read once in a process: reading all documents takes half a second, and what one gateway
 * has compiled serves the others in its process.
 */
export function contractOf(name: DocumentName): Contract {
  const contract = loaded.get(name) ?? loadContract(name)
  loaded.set(name, contract)
  return contract
}

/** Reads a document and makes it callable; each part is compiled at its first use. */
export function loadContract(name: DocumentName): Contract {
  const annotated = loadDocument(name)
  const breakpoints = breakpointsOf(annotated)
  // Published rarely: as text it takes a fifth of the memory.
  const written = Buffer.from(JSON.stringify(annotated))
  const compiler = createCompiler()
  const operations = sourcesOf(annotated).map((source) => createOperation(source, compiler))
  const versions = annotated['x-microversions'] === true ? VERSIONS[name]() : [UNVERSIONED]
  const byId = new Map(operations.map((operation) => [operation.id, operation]))
  const byAction = new Map(
    operations
      .filter(({ action }) => action !== undefined)
      .map((operation) => [`${operation.path} ${operation.action}`, operation]),
  )

  return {
    name,
    versions,
    operations,
    operation: (id) => {
      const found = byId.get(id)
      if (found === undefined) throw new Error(`${name} has no operation ${id}`)
      return found
    },
    action: (path, version, body) => chooseAction(byAction, path, version, body),
    document: (version) => projectDocument(JSON.parse(written.toString()) as Node, version),
    documentStretch: (version) => rangeIndexOf(breakpoints, version),
    get compiled() {
      return compiler.compiled
    },
  }
}

const NONE = () => [UNVERSIONED]

/** The microversions of the documents that have any. */
const VERSIONS: Readonly<Record<DocumentName, () => readonly Microversion[]>> = {
  compute: supportedMicroversions,
  federation: NONE,
  identity: NONE,
  image: NONE,
  network: NONE,
  placement: () => PLACEMENT_HISTORY.map(([version]) => version),
  volume: () => VOLUME_HISTORY.map(([version]) => version),
}

function chooseAction(
  byAction: ReadonlyMap<string, Operation>,
  path: string,
  version: Microversion,
  body: unknown,
): Operation {
  // Nova looks in the body for its one key, and finds no method where it has none at all.
  if (body !== undefined && !isNode(body) && !Array.isArray(body))
    throw new Failure('not-found', 'There is no such action: the request body names none.')
  const keys = isNode(body) ? Object.keys(body) : []
  const [key] = keys
  if (key === undefined || keys.length > 1)
    throw new Failure('invalid', 'The request body must be an object with the one action to do.')
  const operation = byAction.get(`${path} ${key}`)
  if (operation === undefined) throw new Failure('invalid', `There is no such action: ${key}`)
  if (!operation.isAvailable(version))
    throw new Failure('not-found', `Action '${key}' does not exist at microversion ${version}.`)
  return operation
}

const METHODS: readonly Method[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Every operation and action of a document, references inlined, its path's parameters added. */
function sourcesOf(document: Node): readonly OperationSource[] {
  const inline = inliner(document)
  return Object.entries(document['paths'] as Node).flatMap(([path, item]) => {
    const whole = inline(item) as Node
    return METHODS.flatMap((method) => {
      const node = whole[method.toLowerCase()]
      return isNode(node) ? sourcesOfMethod(path, method, node, whole['parameters']) : []
    })
  })
}

function sourcesOfMethod(
  path: string,
  method: Method,
  node: Node,
  shared: unknown,
): readonly OperationSource[] {
  const actions = isNode(node['x-actions']) ? Object.entries(node['x-actions']) : []
  if (actions.length === 0)
    return [{ method, path, action: undefined, node: withParameters(node, shared) }]
  return actions.map(([action, entry]) => {
    return { method, path, action, node: withParameters(entry as Node, shared) }
  })
}

function withParameters(node: Node, shared: unknown): Node {
  return { ...node, parameters: [shared ?? [], node['parameters'] ?? []].flat() }
}
