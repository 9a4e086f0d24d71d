import { setTimeout as sleep } from 'node:timers/promises'
import { type Static, type TSchema, Type } from 'typebox'
import { request } from 'undici'
import { type ErrorKind, Failure, isFailure } from '#common/errors.ts'
import { checked } from '#openapi/wire/checked.ts'
import { FIELDS, IronicNode } from './ironic-node.ts'
import type { IronicSettings } from './settings.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** JSON Patch (RFC 6902), as ironic takes it. */
export interface Patch {
  readonly op: 'add' | 'remove'
  readonly path: string
  readonly value?: unknown
}

/** The newest that is needed: config drives as the documents they are made of. */
const API_VERSION = '1.56'
const CALL_MS = 60_000
/** Ironic works on a node alone, slowly: it pauses for seconds between two commands to a BMC. */
const LOCKED_MS = 120_000
const PAUSE_MS = 500
const CONFLICTS_MAX = 3
const DETAIL_MAX = 500
const UNAUTHENTICATED = 401
const FORBIDDEN = 403
const INTERNAL = 500
const KINDS: Readonly<Record<number, ErrorKind>> = {
  400: 'invalid',
  401: 'unavailable',
  403: 'forbidden',
  404: 'not-found',
  406: 'unsupported',
  409: 'conflict',
}

const Page = Type.Object({ nodes: Type.Array(IronicNode), next: Type.Optional(Type.String()) })

const Port = Type.Object({
  address: Type.String(),
  pxe_enabled: Type.Boolean(),
  internal_info: Type.Object({ tenant_vif_port_id: Type.Optional(Type.String()) }),
})
const Ports = Type.Object({ ports: Type.Array(Port) })

const Vifs = Type.Object({ vifs: Type.Array(Type.Object({ id: Type.String() })) })

/** A NIC of a node. */
export interface IronicNic {
  readonly macAddress: string
  /** The port of a network that was attached to it; absent: none. */
  readonly vif?: string | undefined
}

/** An ironic API. Silence, and an answer that is not ironic's own, is `unavailable`. */
export class IronicClient implements AsyncDisposable {
  readonly #settings: IronicSettings

  constructor(settings: IronicSettings) {
    this.#settings = settings
  }

  /** Every node that is this host's to use. */
  async nodes(signal: AbortSignal): Promise<readonly IronicNode[]> {
    const { conductorGroup } = this.#settings
    const group = conductorGroup === undefined ? '' : `&conductor_group=${conductorGroup}`
    const nodes: IronicNode[] = []
    let path: string | undefined = `/v1/nodes?fields=${FIELDS}${group}`
    while (path !== undefined) {
      const page: Static<typeof Page> = await this.#ask(Page, path, signal)
      nodes.push(...page.nodes)
      path = page.next === undefined ? undefined : pathOf(page.next)
    }
    return nodes
  }

  node(uuid: string, signal: AbortSignal): Promise<IronicNode> {
    return this.#ask(IronicNode, `/v1/nodes/${uuid}?fields=${FIELDS}`, signal)
  }

  /** The node's NICs, the ones that it boots by first. */
  async nics(uuid: string, signal: AbortSignal): Promise<readonly IronicNic[]> {
    const path = `/v1/ports?node=${uuid}&fields=address,pxe_enabled,internal_info`
    const { ports } = await this.#ask(Ports, path, signal)
    return ports
      .toSorted((a, b) => Number(b.pxe_enabled) - Number(a.pxe_enabled))
      .map(({ address, internal_info }) => {
        return { macAddress: address, vif: internal_info.tenant_vif_port_id }
      })
  }

  /** The ports of networks that are attached to the node, as far as its network interface keeps them. */
  async vifs(uuid: string, signal: AbortSignal): Promise<readonly string[]> {
    const { vifs } = await this.#ask(Vifs, `/v1/nodes/${uuid}/vifs`, signal)
    return vifs.map(({ id }) => id)
  }

  /** Throws as `patch`, and `internal` when what looks after ironic's networks refuses. */
  async attachVif(uuid: string, id: string, signal: AbortSignal): Promise<void> {
    await this.#change('POST', uuid, '/vifs', { id }, signal)
  }

  /** Throws as `patch`. */
  async detachVif(uuid: string, id: string, signal: AbortSignal): Promise<void> {
    await this.#change('DELETE', uuid, `/vifs/${id}`, undefined, signal)
  }

  /** Throws `conflict` when the node is not as the change needs it, and `unavailable` while it is locked for too long. */
  async patch(uuid: string, patches: readonly Patch[], signal: AbortSignal): Promise<void> {
    await this.#change('PATCH', uuid, '', patches, signal)
  }

  /** Begins to bring the node to a state, such as `active`. Throws as `patch`. */
  async provision(
    uuid: string,
    body: { readonly target: string; readonly configdrive?: object | string },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#change('PUT', uuid, '/states/provision', body, signal)
  }

  /** Begins to switch the node. Throws as `patch`. */
  async power(
    uuid: string,
    body: { readonly target: string; readonly timeout?: number },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#change('PUT', uuid, '/states/power', body, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#settings.agent.destroy()
  }

  /** A conflict says that the node is locked, or not as it must be: the node itself says which. */
  async #change(
    method: Method,
    uuid: string,
    below: string,
    body: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const deadline = performance.now() + LOCKED_MS
    for (let conflicts = 0; ; ) {
      try {
        await this.#send(method, `/v1/nodes/${uuid}${below}`, body, signal)
        return
      } catch (error) {
        if (!isFailure(error, 'conflict')) throw error
        const { reservation } = await this.node(uuid, signal)
        conflicts += reservation === null ? 1 : 0
        if (conflicts === CONFLICTS_MAX) throw error
        if (performance.now() >= deadline)
          throw new Failure('unavailable', 'Ironic is busy with the machine.', { cause: error })
      }
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }

  async #ask<T extends TSchema>(schema: T, path: string, signal: AbortSignal): Promise<Static<T>> {
    const text = await this.#send('GET', path, undefined, signal)
    try {
      return checked(schema, JSON.parse(text), 'What ironic says')
    } catch (cause) {
      throw new Failure('unavailable', 'Ironic gave an answer that could not be understood.', {
        cause,
      })
    }
  }

  async #send(method: Method, path: string, body: unknown, signal: AbortSignal): Promise<string> {
    const { authorization } = this.#settings
    let answer = await this.#sendOnce(method, path, body, signal)
    if (answer.statusCode === UNAUTHENTICATED && authorization.refused())
      answer = await this.#sendOnce(method, path, body, signal)
    const { statusCode, text } = answer
    if (statusCode < 300) return text
    throw new Failure(kindOf(method, statusCode), refusalOf(statusCode), {
      detail: `${method} ${path} answered ${statusCode}: ${text.slice(0, DETAIL_MAX)}`,
    })
  }

  async #sendOnce(
    method: Method,
    path: string,
    body: unknown,
    signal: AbortSignal,
  ): Promise<{ readonly statusCode: number; readonly text: string }> {
    signal.throwIfAborted()
    const { url, authorization, agent } = this.#settings
    const sent = request(url + path, {
      method,
      dispatcher: agent,
      headers: {
        accept: 'application/json',
        'x-openstack-ironic-api-version': API_VERSION,
        ...(await authorization.headers(signal)),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]),
    })
    return sent
      .then(async (answer) => ({ statusCode: answer.statusCode, text: await answer.body.text() }))
      .catch((cause: unknown) => {
        signal.throwIfAborted()
        throw new Failure('unavailable', 'Ironic does not answer.', { cause })
      })
  }
}

/** Ironic says 500 of what its network service refuses (`NetworkError`), and nothing but vifs is posted. */
function kindOf(method: Method, statusCode: number): ErrorKind {
  if (method === 'POST' && statusCode === INTERNAL) return 'internal'
  return KINDS[statusCode] ?? 'unavailable'
}

function refusalOf(statusCode: number): string {
  return statusCode === FORBIDDEN
    ? 'Ironic does not let this host’s user do this.'
    : 'Ironic refused.'
}

/** Ironic's links may have another address than the one that is used here. */
function pathOf(next: string): string {
  const { pathname, search } = new URL(next)
  return pathname.slice(pathname.indexOf('/v1/')) + search
}
