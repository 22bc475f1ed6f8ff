// Written by scripts/keep-release.ts: the store of the release before. Do not edit.
import Type from "typebox";
import { Errors } from "typebox/value";
import { Client, Pool, types } from "pg";
import { deflateSync, inflateSync } from "node:zlib";
import { randomUUID } from "node:crypto";
// src/base/keyed-queue.ts
/** Runs work one after the other, in the order of the calls. */
var SerialQueue = class {
	#last = Promise.resolve();
	#length = 0;
	/** Returns the result of the work, or throws its error. A failure does not stop the work behind it. */
	async run(work) {
		const result = this.#last.then(work);
		this.#last = result.catch(() => void 0);
		this.#length++;
		try {
			return await result;
		} finally {
			this.#length--;
		}
	}
	/** Number of pieces of work that run or wait. */
	get length() {
		return this.#length;
	}
	/** Waits for the work that runs or waits now. */
	async idle() {
		await this.#last;
	}
};
/** Runs the work of each key one after the other, in the order of the calls. Work with different keys runs at the same time. */
var KeyedQueue = class {
	#queues = /* @__PURE__ */ new Map();
	/** Returns the result of the work, or throws its error. A failure does not stop the work behind it. */
	async run(key, work) {
		const queue = this.#queues.get(key) ?? new SerialQueue();
		this.#queues.set(key, queue);
		try {
			return await queue.run(work);
		} finally {
			if (queue.length === 0 && this.#queues.get(key) === queue) this.#queues.delete(key);
		}
	}
	/** Returns whether work of this key runs or waits. */
	isBusy(key) {
		return this.#queues.has(key);
	}
	/** Waits for the work that runs or waits now: of this key, or of all keys. */
	async idle(key) {
		const queues = key === void 0 ? [...this.#queues.values()] : [this.#queues.get(key)];
		await Promise.all(queues.map((queue) => queue?.idle()));
	}
};
// src/contract/errors.ts
var errors = {
	bad_request: {
		status: 400,
		when: "malformed JSON, wrong type, missing required field; data.problems lists them all"
	},
	unknown_field: {
		status: 400,
		when: "unknown field in a login body"
	},
	field_not_allowed: {
		status: 400,
		when: "non-empty dir or out"
	},
	invalid_direction: {
		status: 400,
		when: "direction other than to_host or from_host"
	},
	invalid_action: {
		status: 400,
		when: "exec action other than start, stop, wipe; or a stopmode outside 0-3"
	},
	invalid_intent: {
		status: 422,
		when: "the YAML or its meaning is wrong; data.diagnostics lists every problem"
	},
	invalid_source: {
		status: 422,
		when: "the file of another tool is not a lab that can be imported: unknown format, damaged, too large, dangerous, or not loaded from its URL; data.file and data.line name the place"
	},
	unauthenticated: {
		status: 401,
		when: "no valid token"
	},
	expired_agent_session: {
		status: 401,
		when: "the client's session with the service expired"
	},
	expired_host_session: {
		status: 401,
		when: "the service has no session with the host for this user"
	},
	invalid_credentials: {
		status: 401,
		when: "wrong user name or password"
	},
	operation_not_allowed: {
		status: 403,
		when: "the project's mode or the user's role does not allow the operation"
	},
	browser_token_invalid: {
		status: 403,
		when: "ticket unknown, used, expired, malformed, or issued to another session"
	},
	not_found: {
		status: 404,
		when: "unknown path"
	},
	lab_not_found: {
		status: 404,
		when: "no such lab for this user"
	},
	node_not_found: {
		status: 404,
		when: "no such node in the lab"
	},
	link_not_found: {
		status: 404,
		when: "no such link in the lab"
	},
	template_not_found: {
		status: 404,
		when: "no such template on the host"
	},
	capture_not_found: {
		status: 404,
		when: "no such capture"
	},
	snapshot_not_found: {
		status: 404,
		when: "the lab has no such snapshot"
	},
	history_not_found: {
		status: 404,
		when: "the history of the lab has no such text"
	},
	picture_not_found: {
		status: 404,
		when: "the lab has no such picture"
	},
	disks_not_found: {
		status: 404,
		when: "no such kept disks or transfer of disks for this user"
	},
	job_not_found: {
		status: 404,
		when: "no such job"
	},
	method_not_allowed: {
		status: 405,
		when: "the path does not support this method; the Allow header lists the methods that it supports"
	},
	lab_exists: {
		status: 409,
		when: "deploy of a managed lab that exists, without replace"
	},
	plan_stale: {
		status: 409,
		when: "the plan identity is not the one of the last plan of this direction, or the lab has changed since then"
	},
	lab_elsewhere: {
		status: 409,
		when: "another service on the same database owns the lab; nothing was changed"
	},
	lab_busy: {
		status: 409,
		when: "another change of the same lab runs; data.operation describes it"
	},
	session_exists: {
		status: 409,
		when: "the browser ticket belongs to another user than the signed-in one, and replace is not set; data.username, data.ticket_username"
	},
	node_not_running: {
		status: 409,
		when: "the console of a stopped node; data.node and data.power, if the host returns them; data.log is false if the host keeps no console output"
	},
	capture_limit: {
		status: 409,
		when: "the limit on the number or the size of captures of the lab or the host is reached; data.limit names the limit"
	},
	quota_exceeded: {
		status: 403,
		when: "the change would exceed a quota of the lab's owner: nothing was changed; data.quota has the quota, the resource, what is used, and the limit"
	},
	console_in_use: {
		status: 409,
		when: "exec on a console that another exec uses"
	},
	number_clash: {
		status: 409,
		when: "another lab of the same host user runs a node with the same number; data.clash contains the number, the lab and its node"
	},
	node_stuck: {
		status: 409,
		when: "the host reports the node as half started and neither starts nor stops it; a wipe resets the node and deletes its disk"
	},
	lab_in_use: {
		status: 409,
		when: "another host user has the lab open, or its nodes run or may run for that user (destroy accepts force); or a lab to renumber runs; data.users"
	},
	nodes_running: {
		status: 409,
		when: "a snapshot is taken, restored or removed, or disks are exported, while nodes run that must be stopped first; data.nodes lists them"
	},
	snapshot_exists: {
		status: 409,
		when: "the lab already has a snapshot with this name"
	},
	cancelled: {
		status: 409,
		when: "the change was cancelled: stopped after the step in flight; data.applied, data.remaining"
	},
	payload_too_large: {
		status: 413,
		when: "the request body, or the picture to return, is larger than the limit; data.limit"
	},
	unsupported_media_type: {
		status: 415,
		when: "a body that is not application/json"
	},
	unsupported: {
		status: 422,
		when: "the host does not support this; data.feature names the feature"
	},
	lab_locked: {
		status: 423,
		when: "the lab's lock is set on the host when a change begins: nothing was changed"
	},
	lab_locked_mid_apply: {
		status: 423,
		when: "the lock appeared during an apply: stopped after the step in flight"
	},
	tls_required: {
		status: 426,
		when: "plain HTTP on the HTTPS port"
	},
	rate_limited: {
		status: 429,
		when: "too many attempts; retry after the number of seconds in Retry-After"
	},
	internal: {
		status: 500,
		when: "a defect of the service; data.request_id finds it in the log"
	},
	host_error: {
		status: 502,
		when: "the host refused a step or failed during it; data.host contains the host's message"
	},
	host_unreachable: {
		status: 503,
		when: "no connection to the host",
		retryAfter: 5
	},
	store_unavailable: {
		status: 503,
		when: "the service's database does not answer: nothing was changed, or data.job names the change, which continues when the database answers again",
		retryAfter: 5
	},
	machine_unreachable: {
		status: 503,
		when: "another machine of the fleet has the lab and does not answer; data.machine names it, data.seen_at is its last sign of life. A change that it had begun may go on there",
		retryAfter: 5
	},
	shutting_down: {
		status: 503,
		when: "the service shuts down and ended the call; data contains the progress of the call",
		retryAfter: 5
	},
	overloaded: {
		status: 503,
		when: "the service has no free file descriptors, or no room for the body; it recovers when connections, requests or labs end",
		retryAfter: 5
	},
	host_timeout: {
		status: 504,
		when: "the host did not answer in time"
	},
	image_pull_failed: {
		status: 502,
		when: "an image that a node needs could not be pulled from its registry: nothing was changed; data.image names it, data.reason is the kind of the problem"
	},
	console_timeout: {
		status: 504,
		when: "the prompt or an expected text did not appear; data.output contains the output until then"
	},
	tls_untrusted: {
		status: 0,
		answerStatus: 502,
		when: "raised by the client: the certificate is not trusted and no pin is set; the service returns it with 502 for the certificate of its host"
	},
	tls_pin_mismatch: {
		status: 0,
		answerStatus: 502,
		when: "raised by the client: the certificate is not the pinned one; the service returns it with 502 for the certificate of its host"
	}
};
/** The HTTP status of an answer with this code; 0 if no service answers it. */
function answerStatus(code) {
	const row = errors[code];
	return row.answerStatus ?? row.status;
}
/**
* The only error that crosses layers: a code of the table, a message for people, and the data that `schemas/error-data.ts`
* defines for that code. Any other thrown value is a defect, returned as `internal`.
*/
var Failure = class extends Error {
	code;
	data;
	/** Seconds for the Retry-After header; undefined: no header. */
	retryAfter;
	constructor(code, message, options = {}) {
		super(message, options.cause === void 0 ? void 0 : { cause: options.cause });
		this.name = "Failure";
		this.code = code;
		this.data = options.data;
		const row = errors[code];
		this.retryAfter = options.retryAfter ?? row.retryAfter;
	}
	get status() {
		return answerStatus(this.code);
	}
};
// src/contract/schemas/shapes.ts
/** Any string → S. Not Type.Record: its pattern "^.*$" skips keys that contain a line break. */
function map(values) {
	return Type.Unsafe({
		type: "object",
		additionalProperties: values
	});
}
var text = Type.String();
/** In a request: a path, a key or another short string, which an answer may repeat. */
var name = Type.String({ maxLength: 1024 });
Type.String({ maxLength: 65536 });
var integer = Type.Integer();
var number = Type.Number();
var flag = Type.Boolean();
Type.String({ format: "date-time" });
/** Any JSON value, null included. */
var json = Type.Unknown();
/** Relative path → text. */
var files = map(text);
var optionalText = Type.Optional(text);
Type.Optional(text);
Type.Optional(name);
Type.Optional(integer);
Type.Optional(flag);
Type.Optional(files);
Type.Optional(json);
// src/contract/token-scopes.ts
/** Scopes of API tokens. Each allows what the one before does, and more. */
var tokenScopes = [
	"read",
	"operate",
	"deploy",
	"labs",
	"admin"
];
// src/service/store/stored-json.ts
/** Fields that older releases did not write are optional. */
var recordSchema = Type.Object({
	path: text,
	identity: optionalText,
	mode: optionalText,
	owner: text,
	grants: Type.Optional(map(text)),
	yaml: optionalText,
	files: Type.Optional(files),
	applied: Type.Optional(Type.Object({
		path: text,
		nodes: Type.Array(Type.Object({})),
		links: Type.Array(Type.Object({}))
	})),
	serial: Type.Optional(integer),
	labId: optionalText,
	ids: Type.Optional(Type.Object({
		nodes: map(text),
		networks: map(text),
		links: map(text)
	})),
	power: Type.Optional(map(flag)),
	owedStarts: Type.Optional(Type.Array(text)),
	folders: Type.Optional(Type.Array(text)),
	resume: optionalText,
	lease: Type.Optional(Type.Object({
		for: Type.Optional(integer),
		idle: Type.Optional(integer),
		atEnd: Type.Enum(["stop", "destroy"]),
		begunAt: number,
		heldUntil: Type.Optional(number),
		warning: Type.Optional(Type.Object({
			step: Type.Enum([1, 2]),
			at: number,
			endsAt: number
		})),
		endedAt: Type.Optional(number)
	})),
	usedAt: Type.Optional(number),
	tests: Type.Optional(Type.Object({
		passed: integer,
		failed: integer,
		errors: integer,
		at: number
	})),
	size: Type.Optional(Type.Object({
		nodes: integer,
		memory: number
	})),
	origin: optionalText,
	updatedAt: Type.Optional(number)
});
var tokenSchema = Type.Object({
	id: text,
	name: text,
	scope: Type.Enum(tokenScopes),
	labs: Type.Optional(Type.Array(text, { minItems: 1 })),
	expiresAt: integer
});
var accountSchema = Type.Object({
	name: text,
	role: Type.Enum([
		"admin",
		"user",
		"viewer"
	]),
	hash: text,
	oidc: Type.Optional(Type.Object({
		issuer: text,
		subject: text
	}))
});
var limit = Type.Optional(number);
var quotaSchema = Type.Object({
	kind: Type.Enum([
		"user",
		"group",
		"default"
	]),
	name: text,
	labs: limit,
	nodes: limit,
	memory: limit,
	captures: limit,
	members: Type.Optional(Type.Array(text))
});
var factsSchema = Type.Object({
	version: text,
	processors: number,
	load: number,
	memory: number,
	availableMemory: number
});
var answerSchema = Type.Union([Type.Object({ error: Type.Object({
	code: text,
	error: text
}) }), Type.Object({
	result: Type.Optional(Type.Unknown()),
	error: Type.Optional(Type.Never())
})]);
/** Returns the record of a lab from its two columns, without its plans. Throws `internal` with the lab and the place of the damage. */
function readLabRecord(path, record, contents) {
	const what = `the record of ${path}`;
	const value = {
		...parsed(what, record),
		...contents === null ? {} : parsed(what, contents)
	};
	checked(what, recordSchema, value);
	return value;
}
/** Returns the stored answer of a job. Throws `internal` with the job and the place of the damage. */
function readJobAnswer(job, answer) {
	const what = `the stored answer of job ${job}`;
	const value = parsed(what, answer);
	checked(what, answerSchema, value);
	return value;
}
/** Returns a quota of its row. Throws `internal` if it is damaged: without its limits it would allow everything. */
function readQuota(quota) {
	const what = "a quota";
	const value = parsed(what, quota);
	checked(what, quotaSchema, value);
	return value;
}
/** Returns a machine of its row. Throws `internal` if it is damaged. */
function readMachine({ number, name, url, state, ...columns }) {
	const what = `the machine ${name}`;
	const [labels, facts] = [parsed(what, columns.labels), parsed(what, columns.facts)];
	checked(what, map(text), labels);
	checked(what, factsSchema, facts);
	return {
		number,
		name,
		url,
		state,
		labels,
		facts,
		joinedAt: columns.joined_at,
		seenAt: columns.seen_at,
		silentMs: columns.silent_ms,
		readAt: Date.now()
	};
}
/** Returns an account of its row. Throws `internal` if it is damaged. */
function readAccount(account) {
	const what = "an account";
	const value = parsed(what, account);
	checked(what, accountSchema, value);
	return value;
}
/** Returns an account as it is stored: the same text for the same account. */
function accountText({ name, role, hash, oidc }) {
	return JSON.stringify({
		name,
		role,
		hash,
		...oidc !== void 0 && { oidc: {
			issuer: oidc.issuer,
			subject: oidc.subject
		} }
	});
}
/** Returns the API token of a session's column. Throws `internal` if it is damaged: without its limits it would be an ordinary session. */
function readApiToken(token) {
	const what = "an API token";
	const value = parsed(what, token);
	checked(what, tokenSchema, value);
	return value;
}
function parsed(what, json) {
	try {
		return JSON.parse(json);
	} catch (error) {
		throw damaged(what, error.message, error);
	}
}
function checked(what, schema, value) {
	const [error] = Errors(schema, value);
	if (error !== void 0) throw damaged(what, `${error.instancePath || "/"} ${error.message}`);
}
function damaged(what, why, cause) {
	const text = `${what} in the service's database is damaged: ${why}. Stop the service and restore a backup`;
	return new Failure("internal", text, { cause: cause ?? new Error(text) });
}
// src/service/store/postgres/unavailable.ts
/** Classes of SQLSTATE after which the same statement can succeed later, perhaps on another server. */
var passing = [
	/^08/,
	/^57P0[1-5]$/,
	/^53300$/,
	/^25006$/,
	/^40001$|^40P01$/
];
var systemCodes = /* @__PURE__ */ new Set([
	"ECONNREFUSED",
	"ECONNRESET",
	"EPIPE",
	"ETIMEDOUT",
	"EHOSTUNREACH",
	"ENETUNREACH",
	"ENOTFOUND",
	"EAI_AGAIN",
	"ENOENT"
]);
/** Messages of the client library, which have no codes. */
var clientMessages = /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed)/;
/** Returns whether PostgreSQL did not answer, so that the outcome of the statement is unknown, or refused it only for now. */
function isUnavailable(error) {
	const { code, message } = error ?? {};
	if (typeof code === "string" && (systemCodes.has(code) || passing.some((known) => known.test(code)))) return true;
	if (typeof message !== "string") return false;
	return clientMessages.test(message) || error instanceof AggregateError && error.errors.some(isUnavailable);
}
/** Returns the failure of a call that needs PostgreSQL now. */
function storeUnavailable(error) {
	return new Failure("store_unavailable", "the service's database does not answer: nothing was changed by this call; running labs and open consoles go on. Try again", {
		retryAfter: 5,
		cause: error
	});
}
/** Returns the failure of a statement that PostgreSQL refuses. Its text may contain data, so it is only in the cause, which is logged. */
function storeRefused(error) {
	const { code } = error ?? {};
	return new Failure("internal", `the service's database failed: ${code === "53100" ? "its disk is full: free space on it and try again" : "see the service's log"}`, { cause: error });
}
var remedies = {
	"28P01": "the password is wrong: set PGPASSWORD, write ~/.pgpass, or name a file with --store-password-file",
	"28000": "the server refuses this user from this address: add a line to its pg_hba.conf",
	"3D000": "the database does not exist: create it with createdb",
	"42501": "the user may not create tables there: make it the owner of the database"
};
/** Returns the error of a database that cannot be used, with the reason and the next step. */
function explained(error, shown) {
	const { code, message } = error;
	if (message.includes(shown)) return error;
	const remedy = remedies[code ?? ""] ?? (/password must be a string|no password/i.test(message) ? remedies["28P01"] : void 0);
	if (remedy !== void 0) return new Error(`the store ${shown} cannot be used: ${remedy} (${message})`, { cause: error });
	const text = message === "" && error instanceof AggregateError ? error.errors.map(String).join(", ") : message;
	const next = isUnavailable(error) ? ": start PostgreSQL, or check host and port of the URL" : "";
	return new Error(`the store ${shown} cannot be used: ${text}${next}`, { cause: error });
}
// src/service/store/postgres/database.ts
/** A statement that has no answer after this time has failed, ms. */
var answerMs = 5e3;
var connectMs = 3e3;
/** How often an unreachable database is tried again, ms. */
var againMs = 250;
/** Large numbers of PostgreSQL as numbers: all of ours are times and counters. */
var parsers = { getTypeParser: (oid, format) => oid === types.builtins.INT8 ? Number : types.getTypeParser(oid, format) };
/** Connections to PostgreSQL, and whether it answers. */
var Database = class {
	#pool;
	/** `performance.now()` of the last answer. */
	#answeredAt = performance.now();
	#isReachable = true;
	#closed = false;
	#changed;
	constructor({ config }, changed) {
		this.#changed = changed;
		this.#pool = new Pool({
			...config,
			max: 8,
			connectionTimeoutMillis: connectMs,
			query_timeout: answerMs,
			statement_timeout: answerMs,
			idle_in_transaction_session_timeout: 2 * answerMs,
			keepAlive: true,
			application_name: "labwright",
			types: parsers
		});
		this.#pool.on("error", (error) => this.#note(error));
	}
	get isReachable() {
		return this.#isReachable;
	}
	/** Time since the last answer, ms. */
	get silentMs() {
		return performance.now() - this.#answeredAt;
	}
	/** Runs a statement. Throws `store_unavailable` if PostgreSQL does not answer; the statement may have been committed nevertheless. */
	async query(statement, values) {
		try {
			const { rows, rowCount } = await this.#pool.query({
				...statement,
				values: [...values]
			});
			this.#answered();
			return {
				rows,
				count: rowCount ?? 0
			};
		} catch (error) {
			throw this.#failed(error);
		}
	}
	/** Runs several statements in one transaction, on one connection. */
	async transaction(work) {
		let client;
		const cut = (error) => this.#note(error);
		try {
			const connected = await this.#pool.connect();
			client = connected;
			connected.on("error", cut);
			await connected.query("BEGIN");
			const result = await work(async (statement, values) => {
				const { rows, rowCount } = await connected.query({
					...statement,
					values: [...values]
				});
				return {
					rows,
					count: rowCount ?? 0
				};
			});
			await connected.query("COMMIT");
			connected.off("error", cut);
			connected.release();
			this.#answered();
			return result;
		} catch (error) {
			client?.release(true);
			throw this.#failed(error);
		}
	}
	/**
	* Repeats work that may be repeated, until PostgreSQL answers or `until` is over: a write under a fence with the same values, or a read.
	* @param until `performance.now()` of the last try, asked again before each
	*/
	async persist(work, until) {
		for (;;) try {
			return await work();
		} catch (error) {
			if (!(error instanceof Failure && error.code === "store_unavailable") || this.#closed || performance.now() + againMs > until()) throw error;
			await new Promise((resolve) => setTimeout(resolve, againMs));
		}
	}
	async close() {
		this.#closed = true;
		await this.#pool.end();
	}
	#failed(error) {
		if (error instanceof Failure) return error;
		if (!isUnavailable(error)) return storeRefused(error);
		this.#note(error);
		return storeUnavailable(error);
	}
	#note(error) {
		if (this.#closed || !this.#isReachable || !isUnavailable(error)) return;
		this.#isReachable = false;
		this.#changed(false);
	}
	#answered() {
		this.#answeredAt = performance.now();
		if (this.#isReachable) return;
		this.#isReachable = true;
		this.#changed(true);
	}
};
// src/service/store/postgres/migrations.ts
/** Each entry brings the database from its index to the next version. Append-only. */
var migrations = [
	`CREATE TABLE sessions (
     hash text PRIMARY KEY, username text NOT NULL, role text NOT NULL, credential text,
     created_at bigint NOT NULL, used_at bigint NOT NULL, revoked boolean NOT NULL
   );
   CREATE TABLE browser_sessions (
     hash text PRIMARY KEY, session text NOT NULL REFERENCES sessions (hash) ON DELETE CASCADE, created_at bigint NOT NULL,
     number bigint GENERATED ALWAYS AS IDENTITY
   );
   CREATE INDEX browser_sessions_of ON browser_sessions (session);

   CREATE TABLE services (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, installation text NOT NULL, ends_at timestamptz NOT NULL, ended_at timestamptz
   );
   CREATE INDEX services_of ON services (installation) WHERE ended_at IS NULL;
   CREATE SEQUENCE fences;
   CREATE TABLE leases (lab text PRIMARY KEY, holder bigint NOT NULL REFERENCES services (id), fence bigint NOT NULL);
   CREATE INDEX leases_of ON leases (holder);

   CREATE TABLE labs (path text PRIMARY KEY, revision text NOT NULL, record text NOT NULL, contents text NOT NULL, plans text NOT NULL);
   CREATE TABLE history (
     identity text NOT NULL, serial integer NOT NULL, at bigint NOT NULL, username text, operation text, job text, outcome text,
     nodes integer NOT NULL, links integer NOT NULL, steps text, step_count integer, digest text NOT NULL, contents bytea,
     PRIMARY KEY (identity, serial)
   );
   CREATE INDEX history_by_job ON history (job) WHERE job IS NOT NULL;
   CREATE TABLE jobs (
     id text PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY, lab text NOT NULL, identity text, owner text, operation text NOT NULL,
     username text NOT NULL, request text NOT NULL, status text NOT NULL, outcome text, started_at bigint NOT NULL, finished_at bigint,
     steps text NOT NULL, done integer NOT NULL, result text, error text
   );
   CREATE INDEX jobs_by_lab ON jobs (lab, finished_at DESC, number DESC);
   CREATE INDEX jobs_running ON jobs (started_at) WHERE status = 'running';
   CREATE INDEX jobs_newest ON jobs (started_at DESC, number DESC);
   CREATE INDEX jobs_ended ON jobs (finished_at);
   CREATE TABLE job_keys (
     username text NOT NULL, key text NOT NULL, request text NOT NULL, job text NOT NULL, created_at bigint NOT NULL, answer text,
     PRIMARY KEY (username, key)
   );
   CREATE INDEX job_keys_by_age ON job_keys (created_at);
   CREATE INDEX job_keys_by_job ON job_keys (job);`,
	"ALTER TABLE sessions ADD COLUMN token text",
	"CREATE TABLE quotas (name text PRIMARY KEY, quota text NOT NULL)",
	"SELECT 1",
	"CREATE TABLE accounts (name text PRIMARY KEY, account text NOT NULL)",
	`CREATE TABLE fleet (one boolean PRIMARY KEY DEFAULT true CHECK (one), authority text NOT NULL);
   CREATE TABLE machines (
     number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, installation text NOT NULL UNIQUE, url text NOT NULL,
     state text NOT NULL, labels text NOT NULL, facts text NOT NULL, joined_at timestamptz NOT NULL, seen_at timestamptz NOT NULL
   );
   CREATE TABLE join_tokens (hash text PRIMARY KEY, sealed text NOT NULL, expires_at timestamptz NOT NULL);
   CREATE TABLE placements (lab text PRIMARY KEY, machine integer NOT NULL, placed_at timestamptz NOT NULL);`,
	"ALTER TABLE services ADD COLUMN lost boolean NOT NULL DEFAULT false"
];
/** Only one service migrates at a time; the others wait. Any constant number. */
var migrationLock = 7119804225;
/** Brings the database to the version of this release, in one transaction. Throws an Error for the user if a newer release wrote it. */
async function migrate(client, shown) {
	await client.query("BEGIN");
	try {
		await client.query("SELECT pg_advisory_xact_lock($1)", [migrationLock]);
		await client.query("CREATE TABLE IF NOT EXISTS labwright_version (version integer NOT NULL)");
		const { rows } = await client.query("SELECT version FROM labwright_version");
		const version = rows[0]?.version ?? 0;
		if (version > migrations.length) throw new Error(`the database ${shown} has version ${version}, written by a newer release; this one reads versions up to ${migrations.length}: start the newer release, or restore a backup from before it ran`);
		for (const migration of migrations.slice(version)) await client.query(migration);
		if (version < migrations.length) {
			await client.query("DELETE FROM labwright_version");
			await client.query("INSERT INTO labwright_version VALUES ($1)", [migrations.length]);
		}
		await client.query("COMMIT");
	} catch (error) {
		await client.query("ROLLBACK").catch(() => void 0);
		throw error;
	}
}
/** Migrates the database over a connection of its own, whose statements may take long. Explains why it cannot be used. */
async function prepare({ config, shown }) {
	const client = new Client({
		...config,
		connectionTimeoutMillis: 1e4,
		application_name: "labwright starts"
	});
	client.on("error", () => {});
	try {
		await client.connect();
		await migrate(client, shown);
	} catch (error) {
		throw explained(error, shown);
	} finally {
		await client.end().catch(() => void 0);
	}
}
// src/service/store/postgres/accounts.ts
var sql$7 = {
	lock: {
		name: "lock_accounts",
		text: "LOCK TABLE accounts IN SHARE ROW EXCLUSIVE MODE"
	},
	list: {
		name: "list_accounts",
		text: "SELECT account FROM accounts ORDER BY name COLLATE \"C\""
	},
	put: {
		name: "put_account",
		text: "INSERT INTO accounts (name, account) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET account = excluded.account"
	},
	delete: {
		name: "delete_account",
		text: "DELETE FROM accounts WHERE name = $1"
	},
	notify: {
		name: "notify_accounts",
		text: "SELECT pg_notify('labwright', $1)"
	}
};
/** How long a change waits until its result can be read, ms. */
var patienceMs$3 = 1500;
/** Accounts, in memory and in PostgreSQL: every request checks one. */
var Accounts = class {
	#database;
	#notices;
	#changes = new SerialQueue();
	#rows = [];
	#version = 0;
	/** Number of reads that have begun. */
	#begun = 0;
	/** Number of the read whose rows are in memory. */
	#current = 0;
	constructor(database, notices) {
		this.#database = database;
		this.#notices = notices;
	}
	/** Reads all accounts. */
	async catchUp() {
		this.#begun += 1;
		const number = this.#begun;
		const { rows } = await this.#database.query(sql$7.list, []);
		if (number < this.#current) return;
		this.#current = number;
		this.#rows = rows.map(({ account }) => readAccount(account));
		this.#version += 1;
	}
	list() {
		return this.#rows;
	}
	mark() {
		return String(this.#version);
	}
	change(edit) {
		return this.#changes.run(async () => {
			try {
				return await this.#write(edit);
			} finally {
				await this.#settle();
			}
		});
	}
	async #write(edit) {
		return this.#database.transaction(async (query) => {
			await query(sql$7.lock, []);
			const { rows } = await query(sql$7.list, []);
			const before = new Map(rows.map(({ account }) => [readAccount(account).name, account]));
			const { accounts, result } = await edit(rows.map(({ account }) => readAccount(account)));
			if (accounts === void 0) return result;
			const kept = new Set(accounts.map(({ name }) => name));
			for (const name of before.keys()) if (!kept.has(name)) await query(sql$7.delete, [name]);
			for (const account of accounts) {
				const text = accountText(account);
				if (before.get(account.name) !== text) await query(sql$7.put, [account.name, text]);
			}
			await query(sql$7.notify, [this.#notices.text("account", "all")]);
			return result;
		});
	}
	/** Reads what a change has left. A failure does not undo the change: the next connection of the notices reads all accounts. */
	async #settle() {
		const end = performance.now() + patienceMs$3;
		await this.#database.persist(() => this.catchUp(), () => end).catch(() => this.#notices.reopen());
	}
};
// src/service/store/history-table.ts
/** Maximum numbers of states of one lab, and of bytes of their compressed texts. The oldest ones are deleted. */
var [maxStates, maxBytes] = [50, 4 * 2 ** 20];
/** A longer text of a state, in characters of JSON, is not kept: it would delete the texts of all others. */
var maxText = 4 * 2 ** 20;
/** Steps of a change that are longer than this as JSON are only counted. */
var maxStepsText = 65536;
/** Returns the state of a row. */
function historyOfRow(row) {
	const steps = row["steps"] === null ? void 0 : JSON.parse(row["steps"]);
	return {
		serial: row["serial"],
		at: row["at"],
		...row["user"] !== null && { user: row["user"] },
		...row["operation"] !== null && { operation: row["operation"] },
		...row["job"] !== null && { job: row["job"] },
		...row["outcome"] !== null && { outcome: row["outcome"] },
		nodes: row["nodes"],
		links: row["links"],
		...steps !== void 0 && { steps },
		...row["step_count"] !== null && { stepCount: row["step_count"] },
		hasText: row["has_text"] === 1
	};
}
// src/service/store/postgres/history.ts
var sql$6 = {
	add: {
		name: "add_state",
		text: `WITH held AS (SELECT lab FROM leases WHERE lab = $11 AND holder = $12 AND fence = $13 FOR SHARE),
      cleared AS (DELETE FROM history USING held WHERE identity = $1 AND (serial > $2 OR (job = $6 AND serial <> $2)))
      INSERT INTO history (identity, serial, at, username, operation, job, nodes, links, digest, contents)
      SELECT $1::text, $2::integer, $3::bigint, $4::text, $5::text, $6::text, $7::integer, $8::integer, $9::text, $10::bytea FROM held
      ON CONFLICT (identity, serial) DO UPDATE SET at = excluded.at, username = excluded.username, operation = excluded.operation, job = excluded.job,
        outcome = NULL, nodes = excluded.nodes, links = excluded.links, steps = NULL, step_count = NULL, digest = excluded.digest, contents = excluded.contents`
	},
	deleteOld: {
		name: "delete_old_states",
		text: `DELETE FROM history WHERE identity = $1 AND serial NOT IN (
      SELECT serial FROM (
        SELECT serial, row_number() OVER newest AS number, sum(coalesce(length(contents), 0)) OVER newest AS bytes
        FROM history WHERE identity = $1 WINDOW newest AS (ORDER BY serial DESC)
      ) AS states WHERE number <= ${maxStates} AND bytes <= ${maxBytes})`
	},
	list: {
		name: "list_states",
		text: `SELECT serial, at, username, operation, job, outcome, nodes, links, steps, step_count, contents IS NOT NULL AS has_text
      FROM history WHERE identity = $1 ORDER BY serial DESC`
	},
	text: {
		name: "state_text",
		text: "SELECT contents FROM history WHERE identity = $1 AND serial = $2"
	},
	forget: {
		name: "forget_states",
		text: `WITH held AS (SELECT lab FROM leases WHERE lab = $3 AND holder = $4 AND fence = $5 FOR SHARE)
      DELETE FROM history USING held WHERE identity = $1 AND serial > $2`
	},
	dropRepeated: {
		name: "drop_repeated_states",
		text: `WITH same AS (DELETE FROM history WHERE job = $1 AND step_count = 0 AND digest = (
        SELECT digest FROM history AS earlier WHERE earlier.identity = history.identity AND earlier.serial < history.serial
        ORDER BY serial DESC LIMIT 1) RETURNING serial)
      DELETE FROM history WHERE step_count = 0 AND job IS NOT NULL AND NOT EXISTS (SELECT FROM same) AND (identity, serial, digest) IN (
        SELECT earlier.identity, max(earlier.serial), done.digest FROM history AS done
        JOIN history AS earlier ON earlier.identity = done.identity AND earlier.serial < done.serial
        WHERE done.job = $1 GROUP BY earlier.identity, done.digest)`
	}
};
/** How long a read of the history waits for PostgreSQL, ms. */
var patienceMs$2 = 1500;
/** The earlier intents of labs in PostgreSQL. A lab's history is deleted with its record. */
var History = class {
	#database;
	#leases;
	#labs;
	constructor(database, leases, labs) {
		this.#database = database;
		this.#leases = leases;
		this.#labs = labs;
	}
	calls = {
		add: async ({ identity, serial, at, user = null, operation = null, job = null, nodes, links, digest }, text) => {
			const json = JSON.stringify(text);
			const contents = json.length > maxText ? null : deflateSync(json, { level: 1 });
			const fenced = await this.#fenceOf(identity);
			if (fenced === void 0) return;
			const [lab, fence] = fenced;
			const values = [
				identity,
				serial,
				at,
				user,
				operation,
				job,
				nodes,
				links,
				digest,
				contents,
				lab,
				fence.holder,
				fence.fence
			];
			if ((await this.#run(sql$6.add, values)).count === 0) throw this.#leases.lost(lab, fence);
			await this.#run(sql$6.deleteOld, [identity]);
		},
		list: async (identity) => {
			const { rows } = await this.#run(sql$6.list, [identity]);
			return rows.map((row) => historyOfRow({
				...row,
				user: row["username"],
				has_text: row["has_text"] === true ? 1 : 0
			}));
		},
		text: async (identity, serial) => {
			const contents = (await this.#run(sql$6.text, [identity, serial])).rows[0]?.["contents"];
			return contents === void 0 || contents === null ? void 0 : JSON.parse(inflateSync(contents).toString());
		},
		forgetAfter: async (identity, serial) => {
			const fenced = await this.#fenceOf(identity);
			if (fenced !== void 0) await this.#run(sql$6.forget, [
				identity,
				serial,
				fenced[0],
				fenced[1].holder,
				fenced[1].fence
			]);
		}
	};
	/** Called when a job that recorded a state has ended. Deletes the state if it repeats the one before. */
	async dropRepeated(job) {
		await this.#run(sql$6.dropRepeated, [job]);
	}
	/** Returns the path of the lab with this identity, and its fence. */
	async #fenceOf(identity) {
		const path = this.#labs.calls.list().find((record) => record.identity === identity)?.path;
		return path === void 0 ? void 0 : [path, await this.#leases.fenceOf(path)];
	}
	/** These statements give the same result if they run twice. */
	#run(statement, values) {
		const end = performance.now() + patienceMs$2;
		return this.#database.persist(() => this.#database.query(statement, values), () => end);
	}
};
// src/service/store/job-rows.ts
/** Returns the job of a row of the journal. A damaged text makes it `unreadable`. */
function jobOfRow(row) {
	if (row === void 0) return void 0;
	const [request, steps] = [readJson(row["request"]), readJson(row["steps"])];
	return {
		id: row["id"],
		lab: row["lab"],
		...row["identity"] !== null && { identity: row["identity"] },
		...row["owner"] !== null && { owner: row["owner"] },
		...(request === void 0 || !isSteps(steps)) && { unreadable: true },
		operation: row["operation"],
		user: row["user"],
		request: request ?? null,
		status: row["status"],
		...row["outcome"] === null ? {} : { outcome: row["outcome"] },
		startedAt: row["started_at"],
		...row["finished_at"] === null ? {} : { finishedAt: row["finished_at"] },
		steps: isSteps(steps) ? steps : [],
		done: row["done"],
		...row["result"] === null ? {} : { result: readJson(row["result"]) },
		...row["error"] === null ? {} : { error: errorOf(readJson(row["error"])) }
	};
}
/** Returns `undefined` for a damaged text: one row must not prevent the start of the service or the list of jobs. */
function readJson(text) {
	try {
		return JSON.parse(text);
	} catch {
		return;
	}
}
function isSteps(value) {
	return Array.isArray(value) && value.every((step) => typeof step === "object" && step !== null && typeof step.key === "string");
}
function errorOf(value) {
	const known = value;
	if (typeof known?.code === "string" && typeof known.error === "string") return known;
	return {
		code: "internal",
		error: "the job's error cannot be read any more"
	};
}
/** Returns the Idempotency-Key of a row. Throws `internal` if its answer is damaged. */
function jobKeyOfRow(row) {
	if (row === void 0) return void 0;
	return {
		user: row["user"],
		key: row["key"],
		request: row["request"],
		job: row["job"],
		createdAt: row["created_at"],
		...row["answer"] !== null && { answer: readJobAnswer(row["job"], row["answer"]) }
	};
}
// src/service/store/postgres/jobs.ts
var held$1 = "WITH held AS (SELECT lab FROM leases WHERE lab = $1 AND holder = $2 AND fence = $3 FOR SHARE)";
/** Without results and requests, which may be megabytes. */
var shortColumns = "id, lab, identity, owner, operation, username, 'null' AS request, status, outcome, started_at, finished_at, steps, done, NULL AS result, error";
/** A create that was refused because the lab exists is not a change of that lab. */
var changedIt = "finished_at IS NOT NULL AND coalesce(error::json ->> 'code', '') <> 'lab_exists'";
var newestEndOf = `WHERE lab = $1 AND ${changedIt} AND ($2::text IS NULL OR identity = $2 OR (identity IS NULL AND username = $3))
  ORDER BY finished_at DESC, number DESC LIMIT 1`;
var sql$5 = {
	insert: {
		name: "insert_job",
		text: `${held$1} INSERT INTO jobs (id, lab, identity, owner, operation, username, request, status, started_at, steps, done)
      SELECT $4, lab, $5, $6, $7, $8, $9, $10, $11, $12, $13 FROM held ON CONFLICT (id) DO UPDATE SET done = excluded.done`
	},
	begin: {
		name: "begin_job",
		text: `${held$1} UPDATE jobs SET steps = $5, done = 0 FROM held WHERE id = $4 AND status = 'running'`
	},
	progress: {
		name: "progress_job",
		text: `${held$1} UPDATE jobs SET done = $5 FROM held WHERE id = $4 AND status = 'running'`
	},
	finish: {
		name: "finish_job",
		text: `${held$1}, ended AS (
        UPDATE jobs SET status = $5, outcome = $6, finished_at = $7, result = $8, error = $9, request = 'null' FROM held WHERE id = $4),
      answered AS (UPDATE job_keys SET answer = $10 FROM held WHERE job = $4 AND $10::text IS NOT NULL),
      kept AS (UPDATE history SET outcome = $6, step_count = json_array_length(jobs.steps::json),
          steps = CASE WHEN length(jobs.steps) <= ${maxStepsText} THEN jobs.steps END
        FROM jobs, held WHERE jobs.id = $4 AND history.job = $4 RETURNING serial)
      SELECT pg_notify('labwright', $11), EXISTS (SELECT FROM kept) AS has_state FROM held`
	},
	get: {
		name: "get_job",
		text: "SELECT * FROM jobs WHERE id = $1"
	},
	newest: {
		name: "newest_jobs",
		text: `SELECT ${shortColumns} FROM jobs ORDER BY started_at DESC, number DESC LIMIT $1`
	},
	unfinished: {
		name: "unfinished_jobs",
		text: `SELECT jobs.* FROM jobs LEFT JOIN leases USING (lab) LEFT JOIN services ON services.id = holder
      WHERE status = 'running' AND (holder IS NULL OR installation = $1) ORDER BY started_at, number`
	},
	last: {
		name: "last_job",
		text: `SELECT * FROM jobs ${newestEndOf}`
	},
	ends: {
		name: "last_ends",
		text: `SELECT DISTINCT ON (lab, identity, CASE WHEN identity IS NULL THEN username END)
        id, lab, identity, username, operation, outcome, finished_at, outcome = 'failed' AND steps = '[]' AS stepless
      FROM jobs WHERE ${changedIt}
      ORDER BY lab, identity, CASE WHEN identity IS NULL THEN username END, finished_at DESC, number DESC`
	},
	end: {
		name: "job_end",
		text: `SELECT id, lab, identity, username, operation, outcome, finished_at, outcome = 'failed' AND steps = '[]' AS stepless
      FROM jobs WHERE id = $1 AND ${changedIt}`
	},
	purge: {
		name: "purge_jobs",
		text: "DELETE FROM jobs WHERE finished_at < $1"
	},
	insertKey: {
		name: "insert_key",
		text: `INSERT INTO job_keys (username, key, request, job, created_at) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (username, key) DO UPDATE SET job = excluded.job WHERE job_keys.job = excluded.job`
	},
	findKey: {
		name: "find_key",
		text: "SELECT * FROM job_keys WHERE username = $1 AND key = $2"
	},
	purgeKeys: {
		name: "purge_keys",
		text: "DELETE FROM job_keys WHERE created_at < $1"
	}
};
/** How long the start of a change, and reads, wait for PostgreSQL, ms. */
var patienceMs$1 = 1500;
/** The journal of jobs in PostgreSQL. The newest end of each lab is in memory, for status polls. */
var Jobs = class {
	#database;
	#leases;
	#notices;
	#history;
	/** By lab; newest first. */
	#ends = /* @__PURE__ */ new Map();
	#mine = /* @__PURE__ */ new Map();
	#purgedBefore = Number.NEGATIVE_INFINITY;
	#keysPurgedBefore = Number.NEGATIVE_INFINITY;
	constructor(database, leases, notices, history) {
		this.#history = history;
		this.#database = database;
		this.#leases = leases;
		this.#notices = notices;
	}
	/** Reads the newest ends of all labs. */
	async catchUp() {
		const { rows } = await this.#database.query(sql$5.ends, []);
		this.#ends.clear();
		for (const row of rows) this.#remember(row);
	}
	/** Reads the end of a job of another service. */
	async refresh(id) {
		const { rows } = await this.#database.query(sql$5.end, [id]);
		if (rows[0] !== void 0) this.#remember(rows[0]);
	}
	calls = {
		insert: async (row) => {
			const { id, lab, identity = null, owner = null, operation, user, request, status, startedAt, steps, done } = row;
			const fence = await this.#patient(() => this.#leases.fenceOf(lab));
			const values = [
				identity,
				owner,
				operation,
				user,
				JSON.stringify(request),
				status,
				startedAt,
				JSON.stringify(steps),
				done
			];
			this.#mine.set(id, {
				row,
				fence
			});
			try {
				await this.#write(id, sql$5.insert, values, this.#soon());
			} catch (error) {
				if (!isStoreUnavailable(error)) this.#mine.delete(id);
				throw error;
			}
		},
		begin: async (id, steps) => {
			this.#change(id, {
				steps,
				done: 0
			});
			await this.#write(id, sql$5.begin, [JSON.stringify(steps)], () => this.#leases.certainUntil);
		},
		progress: async (id, done) => {
			this.#change(id, { done });
			await this.#write(id, sql$5.progress, [done], () => this.#leases.certainUntil);
		},
		finish: async (id, end) => {
			const { status, outcome = null, finishedAt = null, result, error, answer } = end;
			const values = [
				status,
				outcome,
				finishedAt,
				jsonOrNull(result),
				jsonOrNull(error),
				jsonOrNull(answer),
				this.#notices.text("job", id)
			];
			const [ended] = await this.#write(id, sql$5.finish, values, () => this.#leases.certainUntil);
			if (ended?.["has_state"] === true) await this.#history.dropRepeated(id);
			const row = this.#mine.get(id)?.row;
			this.#mine.delete(id);
			if (row !== void 0) this.#rememberEnd(row, end);
		},
		get: (id) => this.#read(async () => jobOf((await this.#database.query(sql$5.get, [id])).rows[0]), () => this.#mine.get(id)?.row),
		newest: (limit) => this.#read(async () => (await this.#database.query(sql$5.newest, [limit])).rows.map((row) => jobOf(row)), () => [...this.#mine.values()].map(({ row }) => row).sort((a, b) => b.startedAt - a.startedAt)),
		unfinished: async () => {
			const { rows } = await this.#patient(() => this.#database.query(sql$5.unfinished, [this.#leases.installation]));
			const found = [];
			for (const row of rows.map((one) => jobOf(one))) {
				const fence = await this.#patient(() => this.#leases.fenceOf(row.lab)).catch(ifElsewhere);
				if (fence === void 0) continue;
				this.#mine.set(row.id, {
					row,
					fence
				});
				found.push(row);
			}
			return found;
		},
		lastOf: async (lab, record) => {
			const values = [
				lab,
				record?.identity ?? null,
				record?.owner ?? null
			];
			return this.#patient(async () => jobOf((await this.#database.query(sql$5.last, values)).rows[0]));
		},
		lastEnd: (lab, record) => this.#ends.get(lab)?.find((known) => belongs(known, record))?.end,
		purge: async (finishedBefore) => {
			if (finishedBefore < this.#purgedBefore + 6e4) return;
			await this.#database.query(sql$5.purge, [finishedBefore]);
			this.#purgedBefore = finishedBefore;
			for (const [lab, ends] of this.#ends) {
				const left = ends.filter(({ end }) => end.finishedAt >= finishedBefore);
				if (left.length === 0) this.#ends.delete(lab);
				else this.#ends.set(lab, left);
			}
		},
		insertKey: async ({ user, key, request, job, createdAt }) => {
			await this.#patient(() => this.#database.query(sql$5.insertKey, [
				user,
				key,
				request,
				job,
				createdAt
			]));
		},
		findKey: async (user, key) => this.#patient(async () => keyOf((await this.#database.query(sql$5.findKey, [user, key])).rows[0])),
		purgeKeys: async (createdBefore) => {
			if (createdBefore < this.#keysPurgedBefore + 6e4) return;
			await this.#database.query(sql$5.purgeKeys, [createdBefore]);
			this.#keysPurgedBefore = createdBefore;
		}
	};
	/** Writes about a job under the fence with which it began: a new fence of the same service is another owner. */
	async #write(id, statement, values, until) {
		const mine = this.#mine.get(id);
		if (mine === void 0) return [];
		const { fence, row } = mine;
		const all = [
			row.lab,
			fence.holder,
			fence.fence,
			id,
			...values
		];
		const { rows, count } = await this.#database.persist(() => this.#database.query(statement, all), until);
		if (count > 0) return rows;
		if (await this.#isHeld(row.lab, fence)) return [];
		this.#mine.delete(id);
		throw this.#leases.lost(row.lab, fence);
	}
	/** A write that changed no row: the fence is old, or the job's row is not there. */
	async #isHeld(lab, { holder, fence }) {
		const now = await this.#patient(() => this.#leases.current(lab));
		return now?.holder === holder && now.fence === fence;
	}
	/** Reads from PostgreSQL; without an answer, from memory if it has something. */
	async #read(read, known) {
		try {
			return await (this.#database.isReachable ? this.#patient(read) : read());
		} catch (error) {
			const found = isStoreUnavailable(error) ? known() : void 0;
			if (found === void 0) throw error;
			return found;
		}
	}
	#patient(work) {
		return this.#database.persist(work, this.#soon());
	}
	#soon() {
		const end = performance.now() + patienceMs$1;
		return () => end;
	}
	#change(id, change) {
		const mine = this.#mine.get(id);
		if (mine !== void 0) mine.row = {
			...mine.row,
			...change
		};
	}
	#rememberEnd({ id, lab, identity, user, operation, steps }, { outcome, finishedAt, error }) {
		if (outcome === void 0 || finishedAt === void 0 || error?.code === "lab_exists") return;
		const end = {
			id,
			operation,
			outcome,
			finishedAt,
			failedEarly: outcome === "failed" && steps.length === 0
		};
		this.#add(lab, {
			end,
			identity,
			user
		});
	}
	#remember(row) {
		const end = {
			id: row["id"],
			operation: row["operation"],
			outcome: row["outcome"],
			finishedAt: row["finished_at"],
			failedEarly: row["stepless"]
		};
		this.#add(row["lab"], {
			end,
			identity: row["identity"] ?? void 0,
			user: row["username"]
		});
	}
	/** Keeps the newest end of each lab that was at the path. */
	#add(lab, added) {
		const known = this.#ends.get(lab) ?? [];
		const isOther = (one) => one.identity !== added.identity || one.identity === void 0 && one.user !== added.user;
		const same = known.find((one) => !isOther(one));
		const newest = same !== void 0 && same.end.finishedAt > added.end.finishedAt ? same : added;
		this.#ends.set(lab, [newest, ...known.filter(isOther)].sort((a, b) => b.end.finishedAt - a.end.finishedAt));
	}
};
function belongs({ identity, user }, record) {
	return record === void 0 || identity === record.identity || identity === void 0 && user === record.owner;
}
function isStoreUnavailable(error) {
	return error instanceof Failure && error.code === "store_unavailable";
}
function ifElsewhere(error) {
	if (error instanceof Failure && error.code === "lab_elsewhere") return void 0;
	throw error;
}
function keyOf(row) {
	return row === void 0 ? void 0 : jobKeyOfRow({
		...row,
		user: row["username"]
	});
}
function jobOf(row) {
	return row === void 0 ? void 0 : jobOfRow({
		...row,
		user: row["username"]
	});
}
function jsonOrNull(value) {
	return value === void 0 ? null : JSON.stringify(value);
}
// src/service/store/labs-table.ts
/** The large fields of a lab's record: written only if they changed. */
var contentParts = [
	"yaml",
	"files",
	"applied",
	"source"
];
// src/service/store/postgres/labs.ts
/** The lease row stays locked until the end of the write: nobody takes the lab over in between. */
var held = "WITH held AS (SELECT lab FROM leases WHERE lab = $1 AND holder = $2 AND fence = $3 FOR SHARE)";
var sql$4 = {
	list: {
		name: "list_labs",
		text: "SELECT * FROM labs"
	},
	get: {
		name: "get_lab",
		text: "SELECT * FROM labs WHERE path = $1"
	},
	revisions: {
		name: "lab_revisions",
		text: "SELECT path, revision FROM labs"
	},
	put: {
		name: "put_lab",
		text: `${held}, written AS (INSERT INTO labs (path, revision, record, contents, plans) SELECT lab, $5, $6, $7, $8 FROM held
      ON CONFLICT (path) DO UPDATE SET revision = excluded.revision, record = excluded.record, contents = excluded.contents, plans = excluded.plans
      RETURNING path) SELECT pg_notify('labwright', $4) FROM written`
	},
	putSmall: {
		name: "put_lab_record",
		text: `${held}, written AS (UPDATE labs SET revision = $5, record = $6, plans = $7 FROM held WHERE path = lab RETURNING path)
      SELECT pg_notify('labwright', $4) FROM written`
	},
	delete: {
		name: "delete_lab",
		text: `${held}, gone AS (DELETE FROM labs USING held WHERE path = lab),
      forgotten AS (DELETE FROM history USING held WHERE identity = $5) SELECT pg_notify('labwright', $4) FROM held`
	}
};
/** The records of all labs, in memory and in PostgreSQL. */
var Labs = class {
	#database;
	#leases;
	#notices;
	#entries = /* @__PURE__ */ new Map();
	/** The committed record of a lab with writes on their way; null: none. */
	#committed = /* @__PURE__ */ new Map();
	#writes = new KeyedQueue();
	#failed;
	/** Called with the record that another service has changed, before and after. */
	onOther = () => {};
	constructor(database, leases, notices, failed) {
		this.#database = database;
		this.#leases = leases;
		this.#notices = notices;
		this.#failed = failed;
	}
	/** Reads all records. Throws for a damaged one. */
	async open() {
		const { rows } = await this.#database.query(sql$4.list, []);
		for (const row of rows) this.#entries.set(row.path, entryOf(row));
	}
	/** Reads the records that other services have changed. */
	async catchUp() {
		const { rows } = await this.#database.query(sql$4.revisions, []);
		const there = new Map(rows.map(({ path, revision }) => [path, revision]));
		const stale = [.../* @__PURE__ */ new Set([...there.keys(), ...this.#entries.keys()])].filter((path) => !this.#writes.isBusy(path) && this.#entries.get(path)?.revision !== there.get(path));
		for (const path of stale) await this.refresh(path);
	}
	/** Reads the record of a lab that another service has changed. */
	refresh(path) {
		return this.#writes.run(path, async () => {
			try {
				const entry = await this.#read(path);
				if (this.#committed.has(path)) this.#committed.set(path, entry ?? null);
				else {
					const before = this.#entries.get(path)?.record;
					this.#show(path, entry);
					if (before !== void 0 || entry !== void 0) this.onOther(before, entry?.record);
				}
			} catch (error) {
				this.#failed(path, error);
			}
		});
	}
	calls = {
		get: (path) => this.#entries.get(path)?.record,
		list: () => [...this.#entries.values()].map(({ record }) => record).sort((a, b) => a.path < b.path ? -1 : 1),
		put: (record) => this.#write(record.path, record),
		putPlan: (path, direction, identity) => {
			const known = this.#entries.get(path)?.record;
			return known === void 0 ? Promise.resolve() : this.#write(path, {
				...known,
				plans: {
					...known.plans,
					[direction]: identity
				}
			});
		},
		delete: (path) => this.#write(path, void 0)
	};
	/**
	* Writes the record of a lab; undefined deletes it. Reads see it at once. If the write fails, they see the committed record again, unless a later
	* write waits: it contains the data of this one.
	*/
	#write(path, record) {
		if (!this.#committed.has(path)) this.#committed.set(path, this.#entries.get(path) ?? null);
		const shown = record === void 0 ? void 0 : {
			record,
			revision: void 0
		};
		this.#show(path, shown);
		return this.#writes.run(path, async () => {
			const before = this.#committed.get(path) ?? null;
			const settle = (entry) => {
				this.#committed.set(path, entry);
				if (this.#entries.get(path) !== shown) return;
				this.#show(path, entry ?? void 0);
				this.#committed.delete(path);
			};
			const revision = randomUUID();
			try {
				await this.#persist(path, record, revision, before);
				settle(record === void 0 ? null : {
					record,
					revision
				});
			} catch (error) {
				settle(before === null ? null : {
					record: before.record,
					revision: void 0
				});
				throw error;
			}
		});
	}
	async #persist(path, record, revision, before) {
		const fence = await this.#leases.fenceOf(path);
		const keys = [
			path,
			fence.holder,
			fence.fence,
			this.#notices.text("lab", path)
		];
		const until = () => this.#leases.certainUntil;
		const write = async () => {
			if (record === void 0) return (await this.#database.query(sql$4.delete, [...keys, before?.record.identity ?? ""])).count;
			const { plans, yaml, files, applied, source, ...rest } = record;
			const [small, planned] = [JSON.stringify(rest), JSON.stringify(plans)];
			if (before?.revision !== void 0 && contentParts.every((part) => before.record[part] === record[part])) return (await this.#database.query(sql$4.putSmall, [
				...keys,
				revision,
				small,
				planned
			])).count;
			const contents = JSON.stringify({
				yaml,
				files,
				applied,
				source
			});
			return (await this.#database.query(sql$4.put, [
				...keys,
				revision,
				small,
				contents,
				planned
			])).count;
		};
		if (await this.#database.persist(write, until) === 0) throw this.#leases.lost(path, fence);
	}
	async #read(path) {
		const { rows } = await this.#database.query(sql$4.get, [path]);
		return rows[0] === void 0 ? void 0 : entryOf(rows[0]);
	}
	#show(path, entry) {
		if (entry === void 0) this.#entries.delete(path);
		else this.#entries.set(path, entry);
	}
};
function entryOf({ path, revision, record, contents, plans }) {
	return {
		revision,
		record: {
			...readLabRecord(path, record, contents),
			plans: JSON.parse(plans)
		}
	};
}
// src/service/store/postgres/leases.ts
/** Whether a service `s` is lost: it has not ended by itself, and its lease is over. */
var isLost = "(s.lost OR (s.ended_at IS NULL AND s.ends_at <= clock_timestamp()))";
var sql$3 = {
	end: {
		name: "end_services",
		text: "UPDATE services SET ended_at = clock_timestamp() WHERE installation = $1 AND ended_at IS NULL"
	},
	register: {
		name: "register_service",
		text: "INSERT INTO services (installation, ends_at) VALUES ($1, clock_timestamp() + $2 * interval '1 ms') RETURNING id"
	},
	renew: {
		name: "renew_service",
		text: "UPDATE services SET ends_at = clock_timestamp() + $2 * interval '1 ms' WHERE id = $1 AND ended_at IS NULL"
	},
	leave: {
		name: "leave_service",
		text: "UPDATE services SET ended_at = clock_timestamp() WHERE id = $1 AND ended_at IS NULL"
	},
	make: {
		name: "make_lease",
		text: "INSERT INTO leases (lab, holder, fence) VALUES ($1, $2, nextval('fences')) ON CONFLICT (lab) DO NOTHING RETURNING fence"
	},
	lock: {
		name: "lock_lease",
		text: "SELECT holder, fence FROM leases WHERE lab = $1 FOR UPDATE"
	},
	endLate: {
		name: "end_late_service",
		text: "UPDATE services SET ended_at = clock_timestamp() WHERE id = $1 AND ended_at IS NULL AND ends_at <= clock_timestamp()"
	},
	current: {
		name: "current_lease",
		text: "SELECT holder, fence FROM leases WHERE lab = $1"
	},
	isEnded: {
		name: "is_service_ended",
		text: `SELECT ended_at IS NOT NULL AS ended, installation,
      EXISTS (SELECT FROM labs WHERE path = $2) OR EXISTS (SELECT FROM jobs WHERE lab = $2 AND status = 'running') AS has_lab, (SELECT name FROM machines m WHERE m.installation = s.installation) AS machine
      FROM services s WHERE id = $1 FOR SHARE OF s`
	},
	endJobs: {
		name: "end_jobs_of_lost_lab",
		text: `UPDATE jobs SET status = 'failed', outcome = 'interrupted', finished_at = $3, error = $2, request = 'null'
      WHERE lab = $1 AND status = 'running'`
	},
	lockLost: {
		name: "lock_lost_service",
		text: `SELECT s.installation FROM services s JOIN machines m ON m.installation = s.installation
      WHERE s.id = $1 AND m.seen_at < clock_timestamp() - interval '9 s' AND ${isLost} FOR UPDATE OF s`
	},
	endLost: {
		name: "end_lost_service",
		text: "UPDATE services SET ended_at = coalesce(ended_at, clock_timestamp()), lost = true WHERE id = $1"
	},
	notify: {
		name: "notify_taken",
		text: "SELECT pg_notify('labwright', $1)"
	},
	take: {
		name: "take_lease",
		text: "UPDATE leases SET holder = $2, fence = nextval('fences') WHERE lab = $1 RETURNING fence"
	}
};
/** Error of a change whose service lost the lab. */
var takenOver = {
	code: "cancelled",
	error: "the service that ran this change was lost, and another one has taken the lab over. Plan the lab to see what is left to do"
};
/**
* The lease of this service, and the labs that it owns. A lab's lease ends with the lease of the service that holds it, so one row is renewed for all
* labs. Only the clock of the database decides whether a lease has ended; the service's own clock only makes it stop changing labs before that.
*/
var Leases = class {
	#database;
	#options;
	#events;
	#fences = /* @__PURE__ */ new Map();
	#holder = 0;
	/** `performance.now()` until which the lease is certain. */
	#certainUntil = 0;
	#isDoubtful = false;
	#renewTimer;
	#doubtTimer;
	#closed = false;
	constructor(database, options, events) {
		this.#database = database;
		this.#options = options;
		this.#events = events;
	}
	/** Ends the lease of an earlier process on the same state directory, and begins a new one. */
	async open() {
		await this.#register();
		this.#renewLater();
	}
	/** `performance.now()` until which this service may change labs. */
	get certainUntil() {
		return this.#certainUntil;
	}
	get installation() {
		return this.#options.installation;
	}
	get holder() {
		return this.#holder;
	}
	/** Whether this service has found out that it owns the lab. */
	owns(lab) {
		return this.#fences.has(lab);
	}
	/** Another service has been seen to own the lab. */
	forget(lab) {
		this.#fences.delete(lab);
	}
	/** Returns the fence of a lab, which this service takes if no other service owns it. Throws `lab_elsewhere`. */
	fenceOf(lab) {
		const known = this.#fences.get(lab);
		if (known !== void 0) return known;
		const taking = this.#take(lab);
		this.#fences.set(lab, taking);
		taking.catch(() => this.#fences.get(lab) === taking && this.#fences.delete(lab));
		return taking;
	}
	/**
	* Takes a lab over from a machine of the fleet that is lost. Returns false if it is not, or another machine has taken the lab.
	* @param notice for the other services
	*/
	async takeLost(lab, notice) {
		const holder = this.#holder;
		const fence = await this.#database.transaction(async (query) => {
			const [before] = (await query(sql$3.lock, [lab])).rows;
			if (before === void 0) return void 0;
			const [lost] = (await query(sql$3.lockLost, [before.holder])).rows;
			if (lost === void 0 || lost.installation === this.#options.installation) return void 0;
			await query(sql$3.endLost, [before.holder]);
			await query(sql$3.endJobs, [
				lab,
				JSON.stringify(takenOver),
				Date.now()
			]);
			const [taken] = (await query(sql$3.take, [lab, holder])).rows;
			await query(sql$3.notify, [notice]);
			return taken?.fence;
		});
		if (fence === void 0) return false;
		this.#fences.set(lab, Promise.resolve({
			holder,
			fence
		}));
		return true;
	}
	/** Returns the owner of a lab, this service or another one. */
	async current(lab) {
		const { rows } = await this.#database.query(sql$3.current, [lab]);
		return rows[0];
	}
	/** A write named an old fence: another service owns the lab now. Returns the failure of the write. */
	lost(lab, fence) {
		this.#fences.delete(lab);
		return new Failure("lab_elsewhere", `another service has taken over ${lab}: nothing was written. Send the call to that service`, {
			data: { lab },
			cause: /* @__PURE__ */ new Error(`fence ${fence.fence} of holder ${fence.holder} is old`)
		});
	}
	async close() {
		this.#closed = true;
		clearTimeout(this.#renewTimer);
		clearTimeout(this.#doubtTimer);
		await this.#database.query(sql$3.leave, [this.#holder]).catch(() => void 0);
	}
	async #register() {
		const { installation, leaseMs } = this.#options;
		const sentAt = performance.now();
		this.#holder = await this.#database.transaction(async (query) => {
			await query(sql$3.end, [installation]);
			const { rows } = await query(sql$3.register, [installation, leaseMs]);
			return rows[0].id;
		});
		this.#fences.clear();
		this.#renewed(sentAt);
	}
	#renewed(sentAt) {
		const { leaseMs } = this.#options;
		this.#certainUntil = sentAt + leaseMs * .8;
		clearTimeout(this.#doubtTimer);
		this.#doubtTimer = setTimeout(() => this.#doubt(), this.#certainUntil - performance.now());
		this.#doubtTimer.unref();
	}
	#doubt() {
		if (this.#isDoubtful || this.#closed) return;
		this.#isDoubtful = true;
		this.#events.doubtful();
	}
	#renewLater() {
		if (this.#closed) return;
		this.#renewTimer = setTimeout(() => void this.#renew(), this.#options.leaseMs / 6);
		this.#renewTimer.unref();
	}
	async #renew() {
		const sentAt = performance.now();
		if (sentAt > this.#certainUntil) this.#doubt();
		try {
			const { count } = await this.#database.query(sql$3.renew, [this.#holder, this.#options.leaseMs]);
			const isSame = count === 1;
			if (isSame) this.#renewed(sentAt);
			else {
				this.#doubt();
				await this.#register();
			}
			if (this.#isDoubtful && !this.#closed) {
				this.#isDoubtful = false;
				this.#events.renewed(isSame);
			}
		} catch {} finally {
			this.#renewLater();
		}
	}
	async #take(lab) {
		const holder = this.#holder;
		return this.#database.transaction(async (query) => {
			const made = await query(sql$3.make, [lab, holder]);
			if (made.rows[0] !== void 0) return {
				holder,
				fence: made.rows[0].fence
			};
			const { rows } = await query(sql$3.lock, [lab]);
			const [before] = rows;
			if (before === void 0) throw new Failure("store_unavailable", `the lease of ${lab} changes; try again`, { retryAfter: 1 });
			if (before.holder === holder) return before;
			await query(sql$3.endLate, [before.holder]);
			const [owner] = (await query(sql$3.isEnded, [before.holder, lab])).rows;
			const isOwn = owner?.installation === this.#options.installation;
			const hasLab = owner?.has_lab === true;
			if (hasLab && owner.machine !== null && !isOwn) throw ofMachine(lab, owner.machine);
			if (hasLab && !owner.ended) throw new Failure("lab_elsewhere", `${lab} belongs to another service on the same database: send the call to that service`, { data: { lab } });
			if (!isOwn) await query(sql$3.endJobs, [
				lab,
				JSON.stringify(takenOver),
				Date.now()
			]);
			const taken = await query(sql$3.take, [lab, holder]);
			return {
				holder,
				fence: taken.rows[0].fence
			};
		});
	}
};
/** The nodes of a lab are on the machine that owns it: no other takes it over while that one is in the fleet. */
function ofMachine(lab, machine) {
	return new Failure("lab_elsewhere", `${lab} is on the machine ${machine}, which does not answer: nothing was changed. If it is lost for good: labwright machines remove ${machine}`, { data: { lab } });
}
// src/service/store/postgres/machines.ts
var sql$2 = {
	list: {
		name: "list_machines",
		text: `SELECT number, name, url, state, labels, facts, (extract(epoch FROM joined_at) * 1000)::bigint AS joined_at,
      (extract(epoch FROM seen_at) * 1000)::bigint AS seen_at, (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint AS silent_ms FROM machines ORDER BY name`
	},
	authority: {
		name: "fleet_authority",
		text: "SELECT authority FROM fleet"
	},
	found: {
		name: "found_fleet",
		text: "INSERT INTO fleet (authority) VALUES ($1) ON CONFLICT DO NOTHING"
	},
	own: {
		name: "own_machine",
		text: "SELECT number FROM machines WHERE installation = $1"
	},
	useToken: {
		name: "use_join_token",
		text: "DELETE FROM join_tokens WHERE hash = $1 AND expires_at > clock_timestamp()"
	},
	anyMachine: {
		name: "any_machine",
		text: "SELECT number FROM machines LIMIT 1"
	},
	lock: {
		name: "lock_machines",
		text: "LOCK TABLE machines IN EXCLUSIVE MODE"
	},
	named: {
		name: "machine_named",
		text: "SELECT installation FROM machines WHERE name = $1"
	},
	insert: {
		name: "insert_machine",
		text: `INSERT INTO machines (name, installation, url, state, labels, facts, joined_at, seen_at)
      VALUES ($1, $2, $3, 'active', '{}', $4, clock_timestamp(), clock_timestamp()) RETURNING number`
	},
	update: {
		name: "update_machine",
		text: "UPDATE machines SET name = $1, url = $3, facts = $4, seen_at = clock_timestamp() WHERE installation = $2 RETURNING number"
	},
	report: {
		name: "report_machine",
		text: "UPDATE machines SET facts = $2, seen_at = clock_timestamp() WHERE installation = $1"
	},
	set: {
		name: "set_machine",
		text: `WITH written AS (UPDATE machines SET state = coalesce($2, state), labels = coalesce($3, labels) WHERE name = $1 RETURNING name)
      SELECT pg_notify('labwright', $4) FROM written`
	},
	remove: {
		name: "remove_machine",
		text: `WITH gone AS (DELETE FROM machines WHERE name = $1 RETURNING installation),
      ended AS (UPDATE services SET ended_at = clock_timestamp() FROM gone WHERE services.installation = gone.installation AND ended_at IS NULL)
      SELECT pg_notify('labwright', $2) FROM gone`
	},
	putToken: {
		name: "put_join_token",
		text: `WITH old AS (DELETE FROM join_tokens WHERE expires_at <= clock_timestamp())
      INSERT INTO join_tokens (hash, sealed, expires_at) VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
      RETURNING (extract(epoch FROM expires_at) * 1000)::bigint AS expires_at`
	},
	sealed: {
		name: "sealed_by_join_token",
		text: "SELECT sealed FROM join_tokens WHERE hash = $1 AND expires_at > clock_timestamp()"
	},
	owner: {
		name: "owner_of_lab",
		text: `SELECT m.number FROM leases l JOIN services s ON s.id = l.holder JOIN machines m ON m.installation = s.installation WHERE l.lab = $1
      AND (EXISTS (SELECT FROM labs WHERE path = $1) OR EXISTS (SELECT FROM jobs WHERE lab = $1 AND status = 'running'))`
	},
	place: {
		name: "place_lab",
		text: `WITH old AS (DELETE FROM placements WHERE placed_at < clock_timestamp() - interval '1 day' AND lab <> $1)
      INSERT INTO placements AS p (lab, machine, placed_at) VALUES ($1, $2, clock_timestamp()) ON CONFLICT (lab) DO UPDATE
      SET machine = CASE WHEN p.placed_at > clock_timestamp() - $3 * interval '1 ms' AND EXISTS (
        SELECT FROM machines m WHERE m.number = p.machine AND m.state = 'active' AND m.seen_at > clock_timestamp() - interval '9 s')
        THEN p.machine ELSE excluded.machine END, placed_at = clock_timestamp() RETURNING machine`
	},
	lost: {
		name: "lost_labs",
		text: `SELECT l.lab FROM leases l JOIN labs ON labs.path = l.lab JOIN services s ON s.id = l.holder JOIN machines m ON m.installation = s.installation
      WHERE m.installation <> $1 AND m.seen_at < clock_timestamp() - interval '9 s' AND ${isLost} ORDER BY l.lab`
	},
	owners: {
		name: "owners_of_labs",
		text: `SELECT l.lab, m.number FROM labs JOIN leases l ON l.lab = labs.path JOIN services s ON s.id = l.holder
      JOIN machines m ON m.installation = s.installation`
	}
};
/** The machines of a fleet, in memory and in PostgreSQL. */
var Machines = class {
	#database;
	#leases;
	#notices;
	#rows = [];
	#own;
	/** Number of reads that have begun, and of the one whose rows are in memory. */
	#begun = 0;
	#current = 0;
	/** Lab with a record → number of the machine that owns it. */
	#owners = /* @__PURE__ */ new Map();
	/** Labs of other machines whose owners were read since the last takeMoved. */
	#moved = /* @__PURE__ */ new Set();
	constructor(database, leases, notices) {
		this.#database = database;
		this.#leases = leases;
		this.#notices = notices;
	}
	get own() {
		return this.#own;
	}
	list() {
		return this.#rows;
	}
	/** Reads all machines, if this one has joined: nobody else needs them. */
	async catchUp() {
		if (this.#own === void 0) return;
		this.#begun += 1;
		const number = this.#begun;
		const { rows } = await this.#database.query(sql$2.list, []);
		if (number < this.#current) return;
		this.#current = number;
		this.#rows = rows.map(readMachine);
	}
	/** Reads the machines and the owners of all labs. */
	async catchUpWhole() {
		await this.catchUp();
		if (this.#own === void 0) return;
		this.#owners = new Map(await this.owners());
		for (const lab of this.#owners.keys()) this.#noteOwner(lab);
	}
	/** Reads the owner of a lab whose record another service has written. */
	async refreshOwner(lab) {
		if (this.#own === void 0) return;
		this.#owners.delete(lab);
		const number = await this.#readOwner(lab);
		if (number === void 0) return;
		this.#owners.set(lab, number);
		this.#noteOwner(lab);
	}
	#noteOwner(lab) {
		if (this.#owners.get(lab) === this.#own) return;
		this.#leases.forget(lab);
		this.#moved.add(lab);
	}
	takeMoved() {
		const moved = [...this.#moved];
		this.#moved.clear();
		return moved;
	}
	elsewhere(lab) {
		const owner = this.#own === void 0 || this.#leases.owns(lab) ? void 0 : this.#owners.get(lab);
		return owner === this.#own ? void 0 : owner;
	}
	async authority() {
		const { rows } = await this.#database.query(sql$2.authority, []);
		return rows[0] && JSON.parse(rows[0].authority);
	}
	async found(authority) {
		return (await this.#database.query(sql$2.found, [JSON.stringify(authority)])).count === 1;
	}
	async hasJoined() {
		return (await this.#database.query(sql$2.own, [this.#leases.installation])).count === 1;
	}
	async join({ name, url, facts, token }) {
		const { installation } = this.#leases;
		const values = [
			name,
			installation,
			url,
			JSON.stringify(facts)
		];
		const joined = await this.#database.transaction(async (query) => {
			await query(sql$2.lock, []);
			const [taken] = (await query(sql$2.named, [name])).rows;
			if (taken !== void 0 && taken.installation !== installation) return /* @__PURE__ */ new Error(`another machine of the fleet has the name ${name}: give this one another with --machine-name`);
			const updated = await query(sql$2.update, values);
			if (updated.rows[0] !== void 0) return updated.rows[0].number;
			if (!((await query(sql$2.anyMachine, [])).count === 0) && token === void 0) return /* @__PURE__ */ new Error("this machine was removed from the fleet: it joins again with a new token of labwright machines token");
			if (token !== void 0 && (await query(sql$2.useToken, [token])).count === 0) return /* @__PURE__ */ new Error("the join token is unknown, used or expired: make a new one with labwright machines token");
			return (await query(sql$2.insert, values)).rows[0].number;
		});
		if (joined instanceof Error) throw joined;
		this.#own = joined;
		await this.catchUpWhole();
		return joined;
	}
	async report(facts) {
		await this.#database.query(sql$2.report, [this.#leases.installation, JSON.stringify(facts)]);
		await this.catchUp();
	}
	async set(name, { state, labels }) {
		const written = [
			name,
			state ?? null,
			labels === void 0 ? null : JSON.stringify(labels),
			this.#notices.text("machine", name)
		];
		const { count } = await this.#database.query(sql$2.set, written);
		await this.catchUp();
		return count === 1;
	}
	async remove(name) {
		const { count } = await this.#database.query(sql$2.remove, [name, this.#notices.text("machine", name)]);
		await this.catchUp();
		return count === 1;
	}
	async putToken(hash, sealed, lifetimeMs) {
		const { rows } = await this.#database.query(sql$2.putToken, [
			hash,
			sealed,
			lifetimeMs
		]);
		return { expiresAt: rows[0].expires_at };
	}
	async sealedBy(hash) {
		return (await this.#database.query(sql$2.sealed, [hash])).rows[0]?.sealed;
	}
	async ownerOf(lab, isRecorded) {
		if (this.#own === void 0 || this.#rows.length < 2 || isRecorded && this.#leases.owns(lab)) return void 0;
		const known = (isRecorded ? this.#owners.get(lab) : void 0) ?? await this.#readOwner(lab);
		return known === void 0 || known === this.#own ? void 0 : this.#rows.find(({ number }) => number === known);
	}
	forgetOwner(lab) {
		this.#owners.delete(lab);
	}
	async place(lab, machine, keptMs) {
		return (await this.#database.query(sql$2.place, [
			lab,
			machine,
			keptMs
		])).rows[0].machine;
	}
	async lostLabs() {
		const { rows } = await this.#database.query(sql$2.lost, [this.#leases.installation]);
		return rows.map(({ lab }) => lab);
	}
	async takeOver(lab) {
		const isTaken = await this.#leases.takeLost(lab, this.#notices.text("lab", lab));
		if (isTaken) this.#owners.delete(lab);
		return isTaken;
	}
	async owners() {
		const { rows } = await this.#database.query(sql$2.owners, []);
		return new Map(rows.map(({ lab, number }) => [lab, number]));
	}
	async #readOwner(lab) {
		const { rows } = await this.#database.query(sql$2.owner, [lab]);
		return rows[0]?.number;
	}
};
// src/service/store/postgres/notices.ts
/** Longest time between two tries to listen again, ms. */
var maxPauseMs = 2e3;
/**
* Notices of other services, by LISTEN. They are hints: after a lost connection, `catchUp` reads what has changed meanwhile.
*/
var Notices = class {
	#config;
	#heard;
	#catchUp;
	#sender;
	#client;
	#timer;
	#pauseMs = 50;
	#closed = false;
	/** @param sender number of this service, whose own notices are not heard */
	constructor({ config }, sender, heard, catchUp) {
		this.#config = {
			...config,
			keepAlive: true,
			connectionTimeoutMillis: 3e3,
			query_timeout: 5e3,
			application_name: "labwright listens"
		};
		this.#sender = sender;
		this.#heard = heard;
		this.#catchUp = catchUp;
	}
	/** The payload of a notice, for pg_notify, which takes less than 8,000 bytes. */
	text(kind, key) {
		return `${this.#sender()} ${kind} ${key}`;
	}
	/** Listens, and reads what has changed. Throws if PostgreSQL does not answer. */
	async open() {
		const client = new Client(this.#config);
		const lost = () => this.#lost(client);
		client.on("error", lost);
		client.on("end", lost);
		client.on("notification", ({ payload = "" }) => {
			const [sender = "", kind = "", ...key] = payload.split(" ");
			if (Number(sender) !== this.#sender()) this.#heard({
				kind,
				key: key.join(" ")
			});
		});
		try {
			await client.connect();
			await client.query("LISTEN labwright");
			this.#client = client;
			await this.#catchUp();
			this.#pauseMs = 50;
		} catch (error) {
			this.#client = void 0;
			client.removeAllListeners("end");
			client.end().catch(() => void 0);
			throw error;
		}
	}
	/** Checks that the connection of the notices still answers. A firewall may have dropped it without a word. */
	async check() {
		const client = this.#client;
		await client?.query("SELECT 1").catch(() => this.#lost(client));
	}
	/** Connects again and reads everything that may have changed: a single change could not be read. */
	reopen() {
		if (this.#client !== void 0) this.#lost(this.#client);
	}
	async close() {
		this.#closed = true;
		clearTimeout(this.#timer);
		await this.#client?.end().catch(() => void 0);
	}
	#lost(client) {
		if (this.#client !== client || this.#closed) return;
		this.#client = void 0;
		client.end().catch(() => void 0);
		this.#again();
	}
	#again() {
		if (this.#closed) return;
		this.#timer = setTimeout(() => void this.open().catch(() => this.#again()), this.#pauseMs);
		this.#timer.unref();
		this.#pauseMs = Math.min(maxPauseMs, 2 * this.#pauseMs);
	}
};
// src/service/store/quotas-table.ts
/** The key of a quota's row. */
function quotaKey(kind, name) {
	return `${kind} ${name}`;
}
// src/service/store/postgres/quotas.ts
var sql$1 = {
	list: {
		name: "list_quotas",
		text: "SELECT name, quota FROM quotas"
	},
	put: {
		name: "put_quota",
		text: `WITH written AS (INSERT INTO quotas (name, quota) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET quota = excluded.quota)
      SELECT pg_notify('labwright', $3)`
	},
	delete: {
		name: "delete_quota",
		text: "WITH gone AS (DELETE FROM quotas WHERE name = $1) SELECT pg_notify('labwright', $2)"
	}
};
/** Quotas, in memory and in PostgreSQL: each change of a lab reads them. */
var Quotas = class {
	#database;
	#notices;
	#rows = [];
	/** Number of reads that have begun. */
	#begun = 0;
	/** Number of the read whose rows are in memory. */
	#current = 0;
	constructor(database, notices) {
		this.#database = database;
		this.#notices = notices;
	}
	/** Reads all quotas. */
	async catchUp() {
		this.#begun += 1;
		const number = this.#begun;
		const { rows } = await this.#database.query(sql$1.list, []);
		if (number < this.#current) return;
		this.#current = number;
		const sorted = rows.toSorted((a, b) => a.name < b.name ? -1 : 1);
		this.#rows = sorted.map(({ quota }) => readQuota(quota));
	}
	calls = {
		list: () => this.#rows,
		put: async (row) => {
			await this.#database.query(sql$1.put, [
				quotaKey(row.kind, row.name),
				JSON.stringify(row),
				this.#notices.text("quota", "all")
			]);
			await this.catchUp();
		},
		delete: async (kind, name) => {
			await this.#database.query(sql$1.delete, [quotaKey(kind, name), this.#notices.text("quota", "all")]);
			await this.catchUp();
		}
	};
};
// src/service/store/postgres/sessions.ts
var sql = {
	list: {
		name: "list_sessions",
		text: "SELECT * FROM sessions"
	},
	listBrowsers: {
		name: "list_browsers",
		text: "SELECT hash, session, created_at FROM browser_sessions ORDER BY created_at, number"
	},
	get: {
		name: "get_session",
		text: "SELECT * FROM sessions WHERE hash = $1"
	},
	browsersOf: {
		name: "browsers_of",
		text: "SELECT hash, session, created_at FROM browser_sessions WHERE session = $1 ORDER BY created_at, number"
	},
	insert: {
		name: "insert_session",
		text: `WITH made AS (INSERT INTO sessions (hash, username, role, credential, created_at, used_at, revoked, token)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (hash) DO NOTHING) SELECT pg_notify('labwright', $9)`
	},
	touch: {
		name: "touch_session",
		text: "UPDATE sessions SET used_at = greatest(used_at, $2) WHERE hash = $1"
	},
	setRole: {
		name: "set_session_role",
		text: "WITH done AS (UPDATE sessions SET role = $2 WHERE hash = $1) SELECT pg_notify('labwright', $3)"
	},
	revoke: {
		name: "revoke_session",
		text: `WITH done AS (UPDATE sessions SET revoked = true WHERE hash = $1), gone AS (DELETE FROM browser_sessions WHERE session = $1)
      SELECT pg_notify('labwright', $2)`
	},
	purge: {
		name: "purge_sessions",
		text: "DELETE FROM sessions WHERE coalesce((token::json ->> 'expiresAt')::bigint, created_at) < $1"
	},
	insertBrowser: {
		name: "insert_browser",
		text: "INSERT INTO browser_sessions (hash, session, created_at) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING"
	},
	trimBrowsers: {
		name: "trim_browsers",
		text: `WITH gone AS (DELETE FROM browser_sessions WHERE session = $1 AND hash NOT IN
      (SELECT hash FROM browser_sessions WHERE session = $1 ORDER BY created_at DESC, number DESC LIMIT $2)) SELECT pg_notify('labwright', $3)`
	}
};
/** How long a login or a logout waits for PostgreSQL, ms. */
var patienceMs = 1500;
/** Bearer and browser sessions, in memory and in PostgreSQL: every request looks one up. */
var Sessions = class {
	#database;
	#notices;
	#sessions = /* @__PURE__ */ new Map();
	#browsers = /* @__PURE__ */ new Map();
	/** Sessions whose end is not committed yet. */
	#unrevoked = /* @__PURE__ */ new Set();
	/** Latest time of the purge. */
	#purgedBefore = Number.NEGATIVE_INFINITY;
	constructor(database, notices) {
		this.#database = database;
		this.#notices = notices;
	}
	/** Reads all sessions again, and writes the ends of sessions that could not be written. */
	async catchUp() {
		for (const hash of this.#unrevoked) await this.calls.revoke(hash);
		const sessions = await this.#database.query(sql.list, []);
		const browsers = await this.#database.query(sql.listBrowsers, []);
		this.#sessions = new Map(sessions.rows.map((row) => [row["hash"], this.#endedOr(sessionOf(row))]));
		this.#browsers = new Map(browsers.rows.map((row) => [row["hash"], browserOf(row)]));
	}
	/** Reads a session that another service has changed. */
	async refresh(hash) {
		const { rows } = await this.#database.query(sql.get, [hash]);
		const browsers = await this.#database.query(sql.browsersOf, [hash]);
		if (rows[0] === void 0) this.#sessions.delete(hash);
		else this.#sessions.set(hash, this.#endedOr(sessionOf(rows[0])));
		for (const [key, { session }] of this.#browsers) if (session === hash) this.#browsers.delete(key);
		for (const row of browsers.rows) this.#browsers.set(row["hash"], browserOf(row));
	}
	calls = {
		find: (hash) => this.#sessions.get(hash),
		findByBrowser: (hash) => {
			const browser = this.#browsers.get(hash);
			return browser === void 0 ? void 0 : this.#sessions.get(browser.session);
		},
		count: (usedAfter, createdAfter) => [...this.#sessions.values()].filter(({ revoked, usedAt, createdAt, token }) => !revoked && usedAt > usedAfter && createdAt > createdAfter && token === void 0).length,
		tokens: () => [...this.#sessions.values()].filter(({ token, revoked }) => token !== void 0 && !revoked),
		insert: async (row) => {
			const { hash, user, role, credential = null, createdAt, usedAt, revoked, token } = row;
			const limits = token === void 0 ? null : JSON.stringify(token);
			await this.#write(sql.insert, [
				hash,
				user,
				role,
				credential,
				createdAt,
				usedAt,
				revoked,
				limits,
				this.#notices.text("session", hash)
			]);
			this.#sessions.set(hash, row);
		},
		touch: async (hash, usedAt) => {
			this.#change(hash, { usedAt });
			await this.#database.query(sql.touch, [hash, usedAt]);
		},
		setRole: async (hash, role) => {
			this.#change(hash, { role });
			await this.#write(sql.setRole, [
				hash,
				role,
				this.#notices.text("session", hash)
			]);
		},
		revoke: async (hash) => {
			this.#change(hash, { revoked: true });
			for (const [key, { session }] of this.#browsers) if (session === hash) this.#browsers.delete(key);
			this.#unrevoked.add(hash);
			await this.#write(sql.revoke, [hash, this.#notices.text("session", hash)]);
			this.#unrevoked.delete(hash);
		},
		purge: async (createdBefore) => {
			if (createdBefore < this.#purgedBefore + 6e4) return;
			await this.#database.query(sql.purge, [createdBefore]);
			this.#purgedBefore = createdBefore;
			for (const [hash, { createdAt, token }] of this.#sessions) if ((token?.expiresAt ?? createdAt) < createdBefore) this.#sessions.delete(hash);
			for (const [hash, { session }] of this.#browsers) if (!this.#sessions.has(session)) this.#browsers.delete(hash);
		},
		insertBrowser: async (row, limit) => {
			const { hash, session, createdAt } = row;
			await this.#write(sql.insertBrowser, [
				hash,
				session,
				createdAt
			]);
			await this.#write(sql.trimBrowsers, [
				session,
				limit,
				this.#notices.text("session", session)
			]);
			this.#browsers.set(hash, row);
			const own = [...this.#browsers].filter(([, one]) => one.session === session);
			for (const [key] of own.slice(0, Math.max(0, own.length - limit))) this.#browsers.delete(key);
		}
	};
	/** A session that has ended stays so: a row may have been read before its end, and arrive after it. */
	#endedOr(row) {
		return this.#sessions.get(row.hash)?.revoked === true ? {
			...row,
			revoked: true
		} : row;
	}
	#change(hash, change) {
		const row = this.#sessions.get(hash);
		if (row !== void 0) this.#sessions.set(hash, {
			...row,
			...change
		});
	}
	/** These statements give the same result if they run twice. */
	async #write(statement, values) {
		const end = performance.now() + patienceMs;
		await this.#database.persist(() => this.#database.query(statement, values), () => end);
	}
};
function sessionOf(row) {
	return {
		hash: row["hash"],
		user: row["username"],
		role: row["role"],
		...row["credential"] !== null && { credential: row["credential"] },
		createdAt: row["created_at"],
		usedAt: row["used_at"],
		revoked: row["revoked"],
		...row["token"] !== null && { token: readApiToken(row["token"]) }
	};
}
function browserOf(row) {
	return {
		hash: row["hash"],
		session: row["session"],
		createdAt: row["created_at"]
	};
}
// src/service/store/postgres/postgres-store.ts
/** Opens the store in a PostgreSQL database, and brings its tables to this release. Throws an Error with a readable message if it cannot be used. */
async function postgresStore(address, { installation, log, leaseMs = 3e4 }) {
	await prepare(address);
	const others = /* @__PURE__ */ new Set();
	const doubtful = /* @__PURE__ */ new Set();
	const renewed = /* @__PURE__ */ new Set();
	const database = new Database(address, (isReachable) => {
		if (isReachable) log("info", "the database answers again");
		else log("warn", "the database does not answer: reads come from memory, and changes wait or are refused; running labs go on");
	});
	const leases = new Leases(database, {
		installation,
		leaseMs
	}, {
		doubtful: () => {
			log("error", "the lease of this service cannot be renewed: changes end; running labs go on");
			for (const listener of doubtful) listener();
		},
		renewed: (isSame) => {
			log(isSame ? "info" : "warn", isSame ? "the lease is renewed" : "another service ended the lease of this one: a new lease begins");
			for (const listener of renewed) listener();
		}
	});
	const unread = (what, error) => log("warn", "a change of another service could not be read", {
		what,
		error: String(error)
	});
	const heard = ({ kind, key }) => {
		({
			lab: async () => {
				await machines.refreshOwner(key);
				await labs.refresh(key);
			},
			job: async () => {
				await jobs.refresh(key);
				const row = others.size === 0 ? void 0 : await jobs.calls.get(key);
				if (row !== void 0) for (const listener of others) listener.job(row);
			},
			session: () => sessions.refresh(key),
			quota: () => quotas.catchUp(),
			account: () => accounts.catchUp(),
			machine: () => machines.catchUpWhole()
		})[kind]().catch((error) => {
			unread(`${kind} ${key}`, error);
			notices.reopen();
		});
	};
	const notices = new Notices(address, () => leases.holder, heard, async () => {
		await sessions.catchUp();
		await labs.catchUp();
		await jobs.catchUp();
		await quotas.catchUp();
		await accounts.catchUp();
		await machines.catchUpWhole();
	});
	const labs = new Labs(database, leases, notices, unread);
	labs.onOther = (before, after) => {
		for (const listener of others) listener.lab(before, after);
	};
	const history = new History(database, leases, labs);
	const jobs = new Jobs(database, leases, notices, history);
	const sessions = new Sessions(database, notices);
	const quotas = new Quotas(database, notices);
	const accounts = new Accounts(database, notices);
	const machines = new Machines(database, leases, notices);
	await using opened = new AsyncDisposableStack();
	opened.defer(() => database.close());
	await leases.open();
	opened.defer(() => leases.close());
	await labs.open();
	await notices.open();
	opened.defer(() => notices.close());
	const open = opened.move();
	return {
		sessions: sessions.calls,
		labs: labs.calls,
		jobs: jobs.calls,
		history: history.calls,
		quotas: quotas.calls,
		shared: {
			shown: address.shown,
			accounts,
			machines,
			silentMs: () => database.isReachable ? void 0 : database.silentMs,
			onOthers: (listener) => void others.add(listener),
			onDoubtful: (listener) => void doubtful.add(listener),
			onRenewed: (listener) => void renewed.add(listener)
		},
		close: () => open.disposeAsync()
	};
}
export { postgresStore };
