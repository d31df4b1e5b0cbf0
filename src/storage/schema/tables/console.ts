export interface ConsoleTables {
  sign_in_links: SignInLinkTable
  console_sessions: ConsoleSessionTable
}

interface SignInLinkTable {
  hash: Uint8Array
  user_id: string
  origin: string
  creation_date: Date
  expiration_date: Date
  mac: Uint8Array
}

interface ConsoleSessionTable {
  session_id: string
  hash: Uint8Array
  user_id: string
  origin: string
  client_address: string
  creation_date: Date
  expiration_date: Date
  last_use_date: Date
  mac: Uint8Array
}
