import { addNetwork, createOf, type Product, setOtherCells } from '../product.ts'
import { bootStorm, CONCURRENCY, deleteStorm } from './storms.ts'
import { measureBoots, type Variants } from './variants.ts'

const NETWORKS = 100
const PORTS = 1_000

/** Boots without a network and on many, on one cell that has servers with 1,000 ports on 100 networks. */
export async function measureNetworks(
  product: Product,
  servers: number,
  rounds: number,
): Promise<Variants> {
  await setOtherCells(product, { is_enabled: false })
  const networks: string[] = []
  for (let index = 0; index < NETWORKS; index += 1)
    networks.push(await addNetwork(product.demo, `bench-${index}`))
  const onNetworks = await createOf(product.demo, networks)
  const there = await bootStorm({ ...product, requests: { create: onNetworks } }, PORTS, 'there')
  const name = `boots, ${servers} at c=${CONCURRENCY} on a cell with ${PORTS} ports`
  const variants = await measureBoots(product, servers, rounds, [
    { name, create: (server) => product.requests.create(server), concurrency: CONCURRENCY },
    { name: `${name}, on ${NETWORKS} networks`, create: onNetworks, concurrency: CONCURRENCY },
  ])
  await deleteStorm(product, there.ids)
  await setOtherCells(product, { is_enabled: true })
  return variants
}
