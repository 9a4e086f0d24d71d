import type { HostRouting, RoutingProblem } from '#openapi/wire/routing.ts'

/** A network outside, by the name that operators give it as a physical network. */
export interface ExternalNetwork {
  readonly name: string
  /** Empty where the backend does not show its subnets. */
  readonly cidrs: readonly string[]
}

/** Routers and floating IPs of a backend that has networks of its own. */
export interface Routing {
  /**
   * Afterwards the guests of this host are routed like this and not otherwise, but for what is returned with its reason. Networks
   * on which the host has no guest, and routers between them, stay while others need them. Throws `unavailable` when
   * the backend is silent: what is done by then stays, and the same must be sent again.
   */
  apply(wanted: HostRouting, signal: AbortSignal): Promise<readonly RoutingProblem[]>
}
