import { existsSync, readFileSync } from 'node:fs'
import { endOf, readCredential } from '#common/bus/credential.ts'
import { renewAtGateway } from '#common/bus/keep-credential.ts'
import { errorChain, isFailure } from '#common/errors.ts'
import type { Layout } from '../deployment/layout.ts'
import type { DeploymentState } from '../deployment/state.ts'
import { certificateFile, uplinkCredentialsFile } from '../join/uplink.ts'
import type { Finding } from './finding.ts'

/**
 * Whether the gateway still accepts this cell or host, which has joined it: one that has left, was declared lost or was
 * shut out keeps running here without requests. No finding for a deployment with gateways of its own, nor for an
 * expired credential, which has a finding of its own. `now` in milliseconds since the epoch.
 */
export async function examineMembership(
  layout: Layout,
  { joined, host, cells }: DeploymentState,
  now: number,
): Promise<readonly Finding[]> {
  const gatewayUrl = host?.gatewayUrl ?? joined?.gatewayUrl
  const file = uplinkCredentialsFile(layout)
  if (gatewayUrl === undefined || !existsSync(file)) return []
  const credential = readCredential(file)
  if ((endOf(credential) ?? Number.POSITIVE_INFINITY) <= now) return []
  const who = host === undefined ? `cell ${cells[0]?.name}` : `host ${host.name}`
  const certificate = certificateFile(layout)
  const ca = existsSync(certificate) ? readFileSync(certificate, 'utf8') : undefined
  try {
    await renewAtGateway(gatewayUrl, ca)(credential)
    return [{ is: 'ok', what: `${gatewayUrl} knows ${who}` }]
  } catch (error) {
    if (isFailure(error, 'unauthenticated'))
      return [{ is: 'bad', what: `${gatewayUrl} refuses ${who}: ${error.message}` }]
    return [
      {
        is: 'note',
        what: `${gatewayUrl} cannot be asked about ${who} (${errorChain(error)}). The servers here keep running; requests for them wait until the gateway is reachable`,
      },
    ]
  }
}
