import type { PoolConnection } from 'mysql2'

const answers = new WeakMap<PoolConnection, Promise<boolean>>()

/** Whether the server of the connection is a node of a Galera cluster. It is asked once for each connection. */
export function isGalera(connection: PoolConnection): Promise<boolean> {
  const known = answers.get(connection) ?? ask(connection)
  answers.set(connection, known)
  return known
}

function ask(connection: PoolConnection): Promise<boolean> {
  return new Promise((resolve, reject) => {
    connection.query("show variables like 'wsrep_on'", (error, rows) => {
      if (error === null)
        resolve((rows as readonly { readonly Value?: string }[])[0]?.Value === 'ON')
      else reject(error)
    })
  })
}
