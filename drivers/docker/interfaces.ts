import type { Interfaces } from '../driver.ts'
import { getContainer } from './containers/container.ts'
import { releaseNetworks } from './destroy.ts'
import type { DockerHost } from './host.ts'
import { networkName } from './names.ts'

/** NICs are endpoints in the engine's networks: a container has at most one in each. */
export function dockerInterfaces(host: DockerHost): Interfaces {
  const { engine, owner } = host
  return {
    attach: (id, nic, signal) =>
      host.locks.run(id, signal, async () => {
        const { Id, NetworkSettings } = await getContainer(host, id, signal)
        if (networkName(owner, nic.networkId) in NetworkSettings.Networks) return
        const others = Object.keys(NetworkSettings.Networks).filter((name) => name !== 'none')
        await host.networks.use(nic, signal, async (network) => {
          const endpoint = host.networks.endpoint(nic, others.length === 0)
          const body = { Container: Id, EndpointConfig: endpoint }
          await engine.call('POST', `/networks/${network}/connect`, { body, signal })
        })
      }),
    detach: (id, nic, signal) =>
      host.locks.run(id, signal, async () => {
        const { Id, NetworkSettings } = await getContainer(host, id, signal)
        const network = networkName(owner, nic.networkId)
        const body = { Container: Id }
        if (network in NetworkSettings.Networks)
          await engine.call('POST', `/networks/${network}/disconnect`, { body, signal })
        await releaseNetworks(host, signal)
      }),
  }
}
